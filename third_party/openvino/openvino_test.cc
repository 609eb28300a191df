// The plugins and frontends are found from wherever Bazel linked libopenvino.
#include "openvino/openvino.hpp"

#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "openvino/op/ops.hpp"

namespace {

TEST(OpenVino, RunsOnCpuPluginBesideTheLibrary) {
  const auto x = std::make_shared<ov::op::v0::Parameter>(ov::element::f32, ov::PartialShape{-1});
  const auto model = std::make_shared<ov::Model>(ov::OutputVector{std::make_shared<ov::op::v1::Add>(x, x)->output(0)},
                                                 ov::ParameterVector{x});
  ov::Core core;
  ov::InferRequest request = core.compile_model(model, "CPU").create_infer_request();
  ov::Tensor input(ov::element::f32, {2});
  input.data<float>()[0] = 1.5F;
  input.data<float>()[1] = -2.0F;
  request.set_input_tensor(input);
  request.infer();
  EXPECT_EQ(request.get_output_tensor().data<float>()[0], 3.0F);
  EXPECT_EQ(request.get_output_tensor().data<float>()[1], -4.0F);
}

TEST(OpenVino, ReadsIrThroughFrontendBesideTheLibrary) {
  const std::string ir = R"(<?xml version="1.0"?>
<net name="identity" version="11"><layers>
<layer id="0" name="x" type="Parameter" version="opset1"><data shape="3" element_type="f32"/><output><port id="0" precision="FP32"><dim>3</dim></port></output></layer>
<layer id="1" name="y" type="Result" version="opset1"><input><port id="0" precision="FP32"><dim>3</dim></port></input></layer>
</layers><edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/></edges></net>)";
  const auto model = ov::Core().read_model(ir, ov::Tensor());
  EXPECT_EQ(model->input().get_shape(), ov::Shape{3});
}

}  // namespace
