#include "runtime/engine/openvino/in_place_linear.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <openvino/op/constant.hpp>
#include <openvino/op/convert.hpp>
#include <openvino/op/matmul.hpp>
#include <openvino/op/op.hpp>
#include <utility>
#include <vector>

#include "runtime/engine/kernels/linear_f16.h"

namespace mconnect::openvino {
namespace {

using ov::op::v0::Constant;
using ov::op::v0::Convert;
using ov::op::v0::MatMul;

// A thread's share of the outputs is a multiple of this: of the widest panel, and so of whole cache lines of y.
constexpr std::size_t kGrain = 32;

// x [..., inputs] f32 -> [..., outputs] f32. An operation of its own: the CPU plugin calls evaluate() for it.
class InPlaceLinear : public ov::op::Op {
 public:
  OPENVINO_OP("InPlaceLinear", "mconnect");

  InPlaceLinear(const ov::Output<ov::Node>& x, std::shared_ptr<Constant> weights)
      : Op({x}), weights_(std::move(weights)) {
    constructor_validate_and_infer_types();
  }

  void validate_and_infer_types() override {
    ov::PartialShape shape = get_input_partial_shape(0);
    shape[shape.size() - 1] = static_cast<std::int64_t>(weights_->get_shape()[0]);
    set_output_type(0, ov::element::f32, shape);
  }

  std::shared_ptr<ov::Node> clone_with_new_inputs(const ov::OutputVector& inputs) const override {
    return std::make_shared<InPlaceLinear>(inputs.at(0), weights_);
  }

  bool visit_attributes(ov::AttributeVisitor& visitor) override {
    // OpenVINO merges operations of equal inputs and attributes: those of other weights must differ.
    auto address = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(weights_->get_data_ptr()));
    visitor.on_attribute("weights", address);
    return true;
  }

  bool has_evaluate() const override { return true; }

  bool evaluate(ov::TensorVector& out, const ov::TensorVector& in) const override {
    static const kernels::LinearF16 kKernel = kernels::BestLinearF16();
    const std::size_t outputs = weights_->get_shape()[0], inputs = weights_->get_shape()[1];
    ov::Shape shape = in[0].get_shape();
    const std::size_t rows = in[0].get_size() / inputs;
    shape.back() = outputs;
    out[0].set_shape(shape);
    const float* const x = in[0].data<const float>();
    float* const y = out[0].data<float>();
    const auto* const w = static_cast<const std::uint16_t*>(weights_->get_data_ptr());
    // Runs in the arena of the request, which has as many threads as the caller allowed.
    const std::size_t blocks = (outputs + kGrain - 1) / kGrain;
    const auto share = static_cast<std::size_t>(tbb::this_task_arena::max_concurrency());
    tbb::parallel_for(
        tbb::blocked_range<std::size_t>(0, blocks, std::max<std::size_t>(1, blocks / (4 * share))),
        [&](const tbb::blocked_range<std::size_t>& range) {
          kKernel(x, rows, inputs, w, outputs, range.begin() * kGrain, std::min(outputs, range.end() * kGrain), y);
        },
        tbb::simple_partitioner());
    return true;
  }

 private:
  std::shared_ptr<Constant> weights_;  // keeps alive what its data lie in
};

// The f16 constant [outputs, inputs] behind `output`, or null.
std::shared_ptr<Constant> StoredWeights(const ov::Output<ov::Node>& output) {
  const auto* convert = dynamic_cast<const Convert*>(output.get_node());
  if (convert == nullptr || convert->get_element_type() != ov::element::f32) return nullptr;
  auto weights = std::dynamic_pointer_cast<Constant>(convert->get_input_node_shared_ptr(0));
  if (weights == nullptr || weights->get_element_type() != ov::element::f16 || weights->get_shape().size() != 2) {
    return nullptr;
  }
  const bool aligned = reinterpret_cast<std::uintptr_t>(weights->get_data_ptr()) % alignof(std::uint16_t) == 0;
  return aligned ? weights : nullptr;
}

}  // namespace

int ReadLinearsInPlace(ov::Model& model) {
  if (kernels::BestLinearF16() == nullptr) return 0;
  int replaced = 0;
  for (const std::shared_ptr<ov::Node>& node : model.get_ordered_ops()) {
    const auto matmul = std::dynamic_pointer_cast<MatMul>(node);
    if (matmul == nullptr || matmul->get_transpose_a() || !matmul->get_transpose_b()) continue;
    const ov::Output<ov::Node> x = matmul->input_value(0);
    const std::shared_ptr<Constant> weights = StoredWeights(matmul->input_value(1));
    const ov::Rank rank = x.get_partial_shape().rank();
    if (weights == nullptr || x.get_element_type() != ov::element::f32 || rank.is_dynamic() || rank.get_length() < 2) {
      continue;
    }
    const auto linear = std::make_shared<InPlaceLinear>(x, weights);
    linear->set_friendly_name(matmul->get_friendly_name());
    matmul->output(0).replace(linear->output(0));
    ++replaced;
  }
  return replaced;
}

}  // namespace mconnect::openvino
