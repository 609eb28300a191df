#include "runtime/engine/openvino/in_place_linear.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <openvino/op/constant.hpp>
#include <openvino/op/convert.hpp>
#include <openvino/op/matmul.hpp>
#include <openvino/op/parameter.hpp>
#include <openvino/runtime/properties.hpp>
#include <vector>

#include "runtime/engine/kernels/linear_f16.h"
#include "runtime/engine/openvino/core.h"

namespace mconnect::openvino {
namespace {

using ov::op::v0::Constant;
using ov::op::v0::Convert;
using ov::op::v0::MatMul;
using ov::op::v0::Parameter;

constexpr std::size_t kInputs = 48, kOutputs = 70;

std::shared_ptr<Constant> Weights(ov::element::Type type) {
  std::vector<float> values(kOutputs * kInputs);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7 % 11) / 8 - 0.5f;
  return Constant::create(type, {kOutputs, kInputs}, values);
}

std::shared_ptr<ov::Model> Linear(ov::element::Type type, bool transposed = true, std::int64_t columns = kInputs) {
  const auto x = std::make_shared<Parameter>(ov::element::f32, ov::PartialShape{-1, -1, columns});
  std::shared_ptr<ov::Node> w = Weights(type);
  if (type != ov::element::f32) w = std::make_shared<Convert>(w, ov::element::f32);
  const auto y = std::make_shared<MatMul>(x, w, false, transposed);
  return std::make_shared<ov::Model>(ov::OutputVector{y}, ov::ParameterVector{x});
}

ov::CompiledModel Compile(const std::shared_ptr<ov::Model>& model) {
  return GetCpu().core.compile_model(model, GetCpu().device, ov::hint::inference_precision(ov::element::f32));
}

ov::Tensor Output(ov::InferRequest& request, std::size_t batch, std::size_t tokens) {
  ov::Tensor x(ov::element::f32, {batch, tokens, kInputs});
  for (std::size_t i = 0; i < x.get_size(); ++i) x.data<float>()[i] = std::sin(static_cast<float>(i));
  request.set_input_tensor(x);
  request.infer();
  return request.get_output_tensor(0);
}

// One where this CPU has a kernel, none elsewhere.
int Expected() { return kernels::BestLinearF16() == nullptr ? 0 : 1; }

TEST(InPlaceLinear, GivesWhatTheLinearGave) {
  const auto in_place = Linear(ov::element::f16);
  EXPECT_EQ(ReadLinearsInPlace(*in_place), Expected());
  auto ours = Compile(in_place).create_infer_request();
  auto theirs = Compile(Linear(ov::element::f16)).create_infer_request();
  // One request sees all these shapes in turn, an empty batch among them.
  for (const auto& [batch, tokens] :
       std::vector<std::pair<std::size_t, std::size_t>>{{1, 1}, {2, 5}, {1, 130}, {1, 1}, {0, 3}, {3, 40}}) {
    const ov::Tensor got = Output(ours, batch, tokens), want = Output(theirs, batch, tokens);
    ASSERT_EQ(got.get_shape(), (ov::Shape{batch, tokens, kOutputs}));
    for (std::size_t i = 0; i < got.get_size(); ++i) {
      ASSERT_NEAR(got.data<float>()[i], want.data<float>()[i], 1e-5) << batch << " x " << tokens << ", element " << i;
    }
  }
}

TEST(InPlaceLinear, KeepsNoCopyOfTheWeights) {
  if (Expected() == 0) return;
  auto model = Linear(ov::element::f16);
  const auto weights = std::dynamic_pointer_cast<Constant>(
      model->get_result()->get_input_node_shared_ptr(0)->get_input_node_shared_ptr(1)->get_input_node_shared_ptr(0));
  ASSERT_NE(weights, nullptr);
  ReadLinearsInPlace(*model);
  auto request = Compile(model).create_infer_request();
  const float before = Output(request, 1, 1).data<float>()[0];
  // What the constant's memory holds now is what the next run reads.
  auto* const data = static_cast<ov::float16*>(const_cast<void*>(weights->get_data_ptr()));
  for (std::size_t i = 0; i < kInputs; ++i) data[i] = ov::float16(static_cast<float>(data[i]) * 2);
  EXPECT_NEAR(Output(request, 1, 1).data<float>()[0], 2 * before, 1e-5);
}

TEST(InPlaceLinear, TellsLinearsOfOneInputApart) {
  const auto x = std::make_shared<Parameter>(ov::element::f32, ov::PartialShape{-1, -1, kInputs});
  ov::OutputVector outputs;
  for (const float value : {1.0f, 2.0f}) {
    const auto w = Constant::create(ov::element::f16, {kOutputs, kInputs}, std::vector<float>(1, value));
    outputs.push_back(std::make_shared<MatMul>(x, std::make_shared<Convert>(w, ov::element::f32), false, true));
  }
  const auto model = std::make_shared<ov::Model>(outputs, ov::ParameterVector{x});
  EXPECT_EQ(ReadLinearsInPlace(*model), 2 * Expected());
  auto request = Compile(model).create_infer_request();
  Output(request, 1, 1);
  const float first = request.get_output_tensor(0).data<float>()[0];
  EXPECT_NEAR(request.get_output_tensor(1).data<float>()[0], 2 * first, 1e-5);
}

TEST(InPlaceLinear, LeavesOtherWeightsToOpenVino) {
  EXPECT_EQ(ReadLinearsInPlace(*Linear(ov::element::f32)), 0);
  EXPECT_EQ(ReadLinearsInPlace(*Linear(ov::element::bf16)), 0);
  EXPECT_EQ(ReadLinearsInPlace(*Linear(ov::element::f16, /*transposed=*/false, kOutputs)), 0);
}

}  // namespace
}  // namespace mconnect::openvino
