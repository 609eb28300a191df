#include "runtime/engine/openvino/gated_linear.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <openvino/op/constant.hpp>
#include <openvino/op/convert.hpp>
#include <openvino/op/matmul.hpp>
#include <openvino/op/multiply.hpp>
#include <openvino/op/parameter.hpp>
#include <openvino/op/swish.hpp>
#include <openvino/runtime/properties.hpp>
#include <string>
#include <vector>

#include "runtime/engine/openvino/core.h"

namespace mconnect::openvino {
namespace {

using ov::op::v0::Constant;
using ov::op::v0::MatMul;
using ov::op::v0::Parameter;

constexpr std::size_t kWidth = 64;

std::shared_ptr<ov::Node> Weight(float scale, ov::element::Type type = ov::element::f32) {
  std::vector<float> values(kWidth * kWidth);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = scale * static_cast<float>(i * 7 % 11) - scale * 5;
  std::shared_ptr<ov::Node> weight = Constant::create(type, {kWidth, kWidth}, values);
  if (type != ov::element::f32) weight = std::make_shared<ov::op::v0::Convert>(weight, ov::element::f32);
  return weight;
}

// swish(x A^T) * x B^T, or without the product.
std::shared_ptr<ov::Model> SwiGlu(bool gated = true, ov::element::Type type = ov::element::f32) {
  const auto x = std::make_shared<Parameter>(ov::element::f32, ov::PartialShape{-1, -1, kWidth});
  const auto swish = std::make_shared<ov::op::v4::Swish>(std::make_shared<MatMul>(x, Weight(0.01f, type), false, true));
  std::shared_ptr<ov::Node> y = swish;
  if (gated) y = std::make_shared<ov::op::v1::Multiply>(swish, std::make_shared<MatMul>(x, Weight(0.02f), false, true));
  return std::make_shared<ov::Model>(ov::OutputVector{y}, ov::ParameterVector{x});
}

ov::CompiledModel Compile(const std::shared_ptr<ov::Model>& model) {
  return GetCpu().core.compile_model(model, GetCpu().device, ov::hint::inference_precision(ov::element::f32));
}

// Names of the layers that run as linears, with what was fused into them.
std::vector<std::string> Linears(const ov::CompiledModel& compiled) {
  std::vector<std::string> names;
  for (const auto& node : compiled.get_runtime_model()->get_ops()) {
    const ov::RTMap& info = node->get_rt_info();
    if (info.at("layerType").as<std::string>() != "FullyConnected") continue;
    names.push_back(info.at("originalLayersNames").as<std::string>());
  }
  return names;
}

bool Fuses(const std::shared_ptr<ov::Model>& model) {
  const std::vector<std::string> linears = Linears(Compile(model));
  EXPECT_EQ(linears.size(), 2u);
  return std::any_of(linears.begin(), linears.end(),
                     [](const std::string& names) { return names.find("Swish") != std::string::npos; });
}

TEST(GatedLinear, OpenVinoFusesTheActivationByItself) { EXPECT_TRUE(Fuses(SwiGlu())); }

TEST(GatedLinear, KeepsTheActivationOutOfTheLinear) {
  const auto model = SwiGlu();
  EXPECT_EQ(KeepGatesApart(*model), 1);
  EXPECT_FALSE(Fuses(model));
}

TEST(GatedLinear, ChangesNoValueForAnyShape) {
  const auto apart = SwiGlu();
  ASSERT_EQ(KeepGatesApart(*apart), 1);
  ov::InferRequest a = Compile(SwiGlu()).create_infer_request(), b = Compile(apart).create_infer_request();
  for (const ov::Shape& shape : {ov::Shape{1, 1, kWidth}, ov::Shape{2, 3, kWidth}, ov::Shape{0, 4, kWidth}}) {
    ov::Tensor x(ov::element::f32, shape);
    for (std::size_t i = 0; i < x.get_size(); ++i) x.data<float>()[i] = 0.1f * static_cast<float>(i % 13) - 0.6f;
    for (ov::InferRequest* r : {&a, &b}) r->set_input_tensor(x), r->infer();
    ASSERT_EQ(b.get_output_tensor().get_shape(), shape);
    for (std::size_t i = 0; i < x.get_size(); ++i) {
      EXPECT_NEAR(a.get_output_tensor().data<float>()[i], b.get_output_tensor().data<float>()[i], 1e-5f);
    }
  }
}

TEST(GatedLinear, LeavesTheRestAlone) {
  EXPECT_EQ(KeepGatesApart(*SwiGlu(/*gated=*/false)), 0);
  EXPECT_EQ(KeepGatesApart(*SwiGlu(true, ov::element::f16)), 0);  // f16 weights never run by MLAS
}

}  // namespace
}  // namespace mconnect::openvino
