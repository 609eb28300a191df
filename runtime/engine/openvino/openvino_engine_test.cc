#include "runtime/engine/openvino/openvino_engine.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "mconnect/dtype.h"
#include "mconnect/error.h"

namespace mconnect {
namespace {

// x [n,3] times a constant [3,2] that lies at offset 64 of the weights.
constexpr const char* kMatMul = R"(<?xml version="1.0"?>
<net name="matmul" version="11"><layers>
<layer id="0" name="x" type="Parameter" version="opset1"><data shape="?,3" element_type="f32"/>
  <output><port id="0" precision="FP32" names="x"><dim>-1</dim><dim>3</dim></port></output></layer>
<layer id="1" name="w" type="Const" version="opset1"><data element_type="f32" shape="3, 2" offset="64" size="24"/>
  <output><port id="0" precision="FP32"><dim>3</dim><dim>2</dim></port></output></layer>
<layer id="2" name="mm" type="MatMul" version="opset1"><data transpose_a="false" transpose_b="false"/>
  <input><port id="0" precision="FP32"><dim>-1</dim><dim>3</dim></port><port id="1" precision="FP32"><dim>3</dim><dim>2</dim></port></input>
  <output><port id="2" precision="FP32" names="y"><dim>-1</dim><dim>2</dim></port></output></layer>
<layer id="3" name="y" type="Result" version="opset1">
  <input><port id="0" precision="FP32"><dim>-1</dim><dim>2</dim></port></input></layer>
</layers><edges>
<edge from-layer="0" from-port="0" to-layer="2" to-port="0"/><edge from-layer="1" from-port="0" to-layer="2" to-port="1"/>
<edge from-layer="2" from-port="2" to-layer="3" to-port="0"/></edges></net>)";

// y = state + x, and the state becomes y.
constexpr const char* kSum = R"(<?xml version="1.0"?>
<net name="sum" version="11"><layers>
<layer id="0" name="x" type="Parameter" version="opset1"><data shape="1" element_type="f32"/>
  <output><port id="0" precision="FP32" names="x"><dim>1</dim></port></output></layer>
<layer id="1" name="zero" type="Const" version="opset1"><data element_type="f32" shape="1" offset="0" size="4"/>
  <output><port id="0" precision="FP32"><dim>1</dim></port></output></layer>
<layer id="2" name="read" type="ReadValue" version="opset6"><data variable_id="s" variable_type="f32" variable_shape="1"/>
  <input><port id="0" precision="FP32"><dim>1</dim></port></input>
  <output><port id="1" precision="FP32"><dim>1</dim></port></output></layer>
<layer id="3" name="add" type="Add" version="opset1"><data auto_broadcast="numpy"/>
  <input><port id="0" precision="FP32"><dim>1</dim></port><port id="1" precision="FP32"><dim>1</dim></port></input>
  <output><port id="2" precision="FP32" names="y"><dim>1</dim></port></output></layer>
<layer id="4" name="assign" type="Assign" version="opset6"><data variable_id="s"/>
  <input><port id="0" precision="FP32"><dim>1</dim></port></input>
  <output><port id="1" precision="FP32"><dim>1</dim></port></output></layer>
<layer id="5" name="y" type="Result" version="opset1"><input><port id="0" precision="FP32"><dim>1</dim></port></input></layer>
</layers><edges>
<edge from-layer="1" from-port="0" to-layer="2" to-port="0"/><edge from-layer="2" from-port="1" to-layer="3" to-port="0"/>
<edge from-layer="0" from-port="0" to-layer="3" to-port="1"/><edge from-layer="3" from-port="2" to-layer="4" to-port="0"/>
<edge from-layer="3" from-port="2" to-layer="5" to-port="0"/></edges></net>)";

class OpenVino : public ::testing::Test {
 protected:
  OpenVino() { std::iota(weights.begin() + 16, weights.begin() + 22, 1.0f); }

  ~OpenVino() override {
    engine.context_free(context);
    engine.variant_close(variant);
  }

  int32_t Open(const char* xml, std::vector<mc_engine_option> options = {}, const char* device = "cpu",
               size_t bytes = 128) {
    path = ::testing::TempDir() + "/" + ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".xml";
    std::ofstream(path) << xml;
    mc_engine_source source = {sizeof source, "module 'm'",   path.c_str(),  weights.data(), bytes, 0,
                               device,        options.data(), options.size()};
    return engine.variant_open(&source, &variant);
  }

  static mc_engine_tensor F32(std::vector<int64_t> shape, float* data) {
    mc_engine_tensor t = {static_cast<int32_t>(DType::kF32), static_cast<int32_t>(shape.size()), {}, data};
    std::copy(shape.begin(), shape.end(), t.shape);
    return t;
  }

  float RunSum(mc_engine_context* on, float x) {
    const mc_engine_tensor in = F32({1}, &x);
    mc_engine_tensor out = {};
    EXPECT_EQ(engine.bind_input(on, 0, &in), 0);
    EXPECT_EQ(engine.run(on), 0) << engine.last_error();
    EXPECT_EQ(engine.output(on, 0, &out), 0);
    return *static_cast<float*>(out.data);
  }

  std::string Error() const { return engine.last_error(); }

  const mc_engine_api& engine = *OpenVinoEngine();
  alignas(64) std::array<float, 32> weights = {};
  std::string path;
  mc_engine_variant* variant = nullptr;
  mc_engine_context* context = nullptr;
};

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST_F(OpenVino, OffersTheCpu) {
  const mc_engine_device* devices = nullptr;
  size_t count = 0;
  ASSERT_EQ(engine.devices(&devices, &count), 0);
  ASSERT_EQ(count, 1u);
  EXPECT_STREQ(devices[0].id, "cpu");
  EXPECT_TRUE(devices[0].available) << devices[0].reason;
  EXPECT_STREQ(engine.version(), "2026.4.1");
}

TEST_F(OpenVino, DescribesInputsAndOutputs) {
  ASSERT_EQ(Open(kMatMul), 0) << Error();
  size_t inputs = 0, outputs = 0;
  ASSERT_EQ(engine.io_count(variant, &inputs, &outputs), 0);
  EXPECT_EQ(inputs, 1u);
  EXPECT_EQ(outputs, 1u);
  mc_engine_port port = {};
  ASSERT_EQ(engine.input_port(variant, 0, &port), 0);
  EXPECT_STREQ(port.name, "x");
  EXPECT_EQ(port.rank, 2);
  EXPECT_EQ(port.shape[0], -1);
  EXPECT_EQ(port.shape[1], 3);
  ASSERT_EQ(engine.output_port(variant, 0, &port), 0);
  EXPECT_STREQ(port.name, "y");
  EXPECT_EQ(port.dtype, static_cast<int32_t>(DType::kF32));
  EXPECT_NE(engine.output_port(variant, 1, &port), 0);
}

TEST_F(OpenVino, ReadsConstantsAtTheirOffsetInTheWeights) {
  ASSERT_EQ(Open(kMatMul), 0) << Error();
  ASSERT_EQ(engine.context_create(variant, &context), 0);
  std::vector<float> x = {1, 0, 0, 1, 1, 1};
  const mc_engine_tensor in = F32({2, 3}, x.data());
  ASSERT_EQ(engine.bind_input(context, 0, &in), 0) << Error();
  ASSERT_EQ(engine.run(context), 0) << Error();
  mc_engine_tensor out = {};
  ASSERT_EQ(engine.output(context, 0, &out), 0) << Error();
  ASSERT_EQ(out.rank, 2);
  EXPECT_EQ(out.shape[0], 2);
  const float* y = static_cast<const float*>(out.data);
  EXPECT_EQ(std::vector<float>(y, y + 4), (std::vector<float>{1, 2, 9, 12}));  // rows of [[1,2],[3,4],[5,6]]
}

TEST_F(OpenVino, WritesABoundOutputInPlaceUntilItIsTakenBack) {
  ASSERT_EQ(Open(kMatMul), 0) << Error();
  ASSERT_EQ(engine.context_create(variant, &context), 0);
  std::vector<float> x = {1, 1, 1}, y(2, 0.0f), z = {1, 0, 0, 0, 1, 0};
  const mc_engine_tensor in = F32({1, 3}, x.data()), bound = F32({1, 2}, y.data()), other = F32({2, 3}, z.data());
  ASSERT_EQ(engine.bind_input(context, 0, &in), 0) << Error();
  ASSERT_EQ(engine.bind_output(context, 0, &bound), 0) << Error();
  ASSERT_EQ(engine.run(context), 0) << Error();
  EXPECT_EQ(y, (std::vector<float>{9, 12}));
  mc_engine_tensor out = {};
  ASSERT_EQ(engine.output(context, 0, &out), 0);
  EXPECT_EQ(out.data, y.data());
  ASSERT_EQ(engine.bind_output(context, 0, nullptr), 0) << Error();
  ASSERT_EQ(engine.bind_input(context, 0, &other), 0) << Error();
  ASSERT_EQ(engine.run(context), 0) << Error();
  ASSERT_EQ(engine.output(context, 0, &out), 0);
  EXPECT_EQ(out.shape[0], 2);
  EXPECT_NE(out.data, y.data());
}

TEST_F(OpenVino, HasNoOutputOfARunThatFailed) {
  ASSERT_EQ(Open(kMatMul), 0) << Error();
  ASSERT_EQ(engine.context_create(variant, &context), 0);
  std::vector<float> x = {1, 1, 1}, y(2), z = {1, 0, 0, 0, 1, 0};
  const mc_engine_tensor in = F32({1, 3}, x.data()), bound = F32({1, 2}, y.data()), other = F32({2, 3}, z.data());
  mc_engine_tensor out = {};
  ASSERT_EQ(engine.bind_input(context, 0, &in), 0) << Error();
  ASSERT_EQ(engine.run(context), 0) << Error();
  ASSERT_EQ(engine.output(context, 0, &out), 0);
  ASSERT_EQ(engine.bind_output(context, 0, &bound), 0) << Error();
  ASSERT_EQ(engine.bind_input(context, 0, &other), 0) << Error();
  ASSERT_NE(engine.run(context), 0);  // two rows into the room of one
  EXPECT_NE(engine.output(context, 0, &out), 0);
  EXPECT_HAS(Error(), "asked for before a run");
}

TEST_F(OpenVino, EachContextHasAStateThatResetEmpties) {
  ASSERT_EQ(Open(kSum), 0) << Error();
  mc_engine_context* other = nullptr;
  ASSERT_EQ(engine.context_create(variant, &context), 0);
  ASSERT_EQ(engine.context_create(variant, &other), 0);
  EXPECT_EQ(RunSum(context, 2), 2);
  EXPECT_EQ(RunSum(other, 10), 10);
  EXPECT_EQ(RunSum(context, 3), 5);
  EXPECT_EQ(RunSum(other, 1), 11);
  ASSERT_EQ(engine.reset(context), 0) << Error();
  EXPECT_EQ(RunSum(context, 4), 4);
  EXPECT_EQ(RunSum(other, 1), 12);
  engine.context_free(other);
}

TEST_F(OpenVino, ContextsRunInThreadsAtOnce) {
  ASSERT_EQ(Open(kSum), 0) << Error();
  std::vector<std::thread> threads;
  std::vector<float> sums(8);
  for (size_t t = 0; t < sums.size(); ++t) {
    threads.emplace_back([&, t] {
      mc_engine_context* own = nullptr;
      ASSERT_EQ(engine.context_create(variant, &own), 0);
      for (int i = 0; i < 50; ++i) sums[t] = RunSum(own, static_cast<float>(t));
      engine.context_free(own);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t t = 0; t < sums.size(); ++t) EXPECT_EQ(sums[t], 50 * static_cast<float>(t));
}

TEST_F(OpenVino, RefusesABrokenArtifactAndNamesTheModule) {
  EXPECT_EQ(Open("<net/>"), static_cast<int32_t>(ErrorCode::kCorrupt));
  EXPECT_HAS(Error(), "module 'm': OpenVINO 2026.4.1 cannot read ");
  EXPECT_EQ(Error().find("Exception from"), std::string::npos) << Error();
}

TEST_F(OpenVino, RefusesAConstantOutsideOfTheWeights) {
  EXPECT_EQ(Open(kMatMul, {}, "cpu", /*bytes=*/80), static_cast<int32_t>(ErrorCode::kCorrupt));
}

TEST_F(OpenVino, RefusesUnknownOptionsAndDevices) {
  EXPECT_EQ(Open(kMatMul, {{"precision", "i8"}}), static_cast<int32_t>(ErrorCode::kInvalidArgument));
  EXPECT_HAS(Error(), "precision=i8");
  EXPECT_EQ(Open(kMatMul, {{"threads", "-1"}}), static_cast<int32_t>(ErrorCode::kInvalidArgument));
  EXPECT_EQ(Open(kMatMul, {{"threads", "2x"}}), static_cast<int32_t>(ErrorCode::kInvalidArgument));
  EXPECT_EQ(Open(kMatMul, {{"speed", "high"}}), static_cast<int32_t>(ErrorCode::kInvalidArgument));
  EXPECT_EQ(Open(kMatMul, {}, "gpu:0"), static_cast<int32_t>(ErrorCode::kUnavailable));
}

TEST_F(OpenVino, TellsThePrecisionThatItUses) {
  ASSERT_EQ(Open(kMatMul, {{"precision", "f32"}, {"threads", "1"}}), 0) << Error();
  EXPECT_STREQ(engine.variant_precision(variant), "f32");
}

TEST_F(OpenVino, RefusesInputsOfAnotherTypeOrShape) {
  ASSERT_EQ(Open(kMatMul), 0) << Error();
  ASSERT_EQ(engine.context_create(variant, &context), 0);
  std::vector<float> x(8);
  mc_engine_tensor in = F32({2, 4}, x.data());
  const int32_t bound = engine.bind_input(context, 0, &in);
  EXPECT_EQ(bound != 0 ? bound : engine.run(context), static_cast<int32_t>(ErrorCode::kInvalidArgument));
  in.dtype = static_cast<int32_t>(DType::kI64);
  EXPECT_EQ(engine.bind_input(context, 0, &in), static_cast<int32_t>(ErrorCode::kInvalidArgument));
  EXPECT_EQ(engine.bind_input(context, 5, &in), static_cast<int32_t>(ErrorCode::kInvalidArgument));
}

}  // namespace
}  // namespace mconnect
