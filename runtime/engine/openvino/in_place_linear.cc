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

// Pieces of work for each thread: one that another process holds up leaves the rest to the others.
constexpr std::size_t kSharesEach = 4;

// One x [..., inputs] f32 -> for each of the weights, [..., outputs] f32. An operation of its own: the CPU plugin calls
// evaluate() for it. The linears of one input are one operation, as each costs the plugin some microseconds.
class InPlaceLinears : public ov::op::Op {
 public:
  OPENVINO_OP("InPlaceLinears", "mconnect");

  InPlaceLinears(const ov::Output<ov::Node>& x, std::vector<std::shared_ptr<Constant>> weights)
      : Op({x}), weights_(std::move(weights)) {
    constructor_validate_and_infer_types();
  }

  void validate_and_infer_types() override {
    set_output_size(weights_.size());
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      ov::PartialShape shape = get_input_partial_shape(0);
      shape[shape.size() - 1] = static_cast<std::int64_t>(weights_[i]->get_shape()[0]);
      set_output_type(i, ov::element::f32, shape);
    }
  }

  std::shared_ptr<ov::Node> clone_with_new_inputs(const ov::OutputVector& inputs) const override {
    return std::make_shared<InPlaceLinears>(inputs.at(0), weights_);
  }

  bool visit_attributes(ov::AttributeVisitor& visitor) override {
    // OpenVINO merges operations of equal inputs and attributes: those of other weights must differ.
    auto address = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(weights_[0]->get_data_ptr()));
    visitor.on_attribute("weights", address);
    return true;
  }

  bool has_evaluate() const override { return true; }

  bool evaluate(ov::TensorVector& out, const ov::TensorVector& in) const override {
    static const kernels::LinearF16 kKernel = kernels::BestLinearF16();
    const std::size_t inputs = weights_[0]->get_shape()[1], rows = in[0].get_size() / inputs;
    const float* const x = in[0].data<const float>();
    std::vector<Part> parts;
    std::size_t blocks = 0;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      ov::Shape shape = in[0].get_shape();
      shape.back() = weights_[i]->get_shape()[0];
      out[i].set_shape(shape);
      parts.push_back(
          {static_cast<const std::uint16_t*>(weights_[i]->get_data_ptr()), out[i].data<float>(), shape.back(), blocks});
      blocks += (shape.back() + kGrain - 1) / kGrain;
    }
    // Runs in the arena of the request, which has as many threads as the caller allowed.
    const auto share = static_cast<std::size_t>(tbb::this_task_arena::max_concurrency());
    tbb::parallel_for(
        tbb::blocked_range<std::size_t>(0, blocks, std::max<std::size_t>(1, blocks / (kSharesEach * share))),
        [&](const tbb::blocked_range<std::size_t>& range) {
          for (const Part& part : parts) {
            const std::size_t last = part.first_block + (part.outputs + kGrain - 1) / kGrain;
            const std::size_t begin = std::max(range.begin(), part.first_block), end = std::min(range.end(), last);
            if (begin >= end) continue;
            kKernel(x, rows, inputs, part.w, part.outputs, (begin - part.first_block) * kGrain,
                    std::min(part.outputs, (end - part.first_block) * kGrain), part.y);
          }
        },
        tbb::simple_partitioner());
    return true;
  }

 private:
  struct Part {
    const std::uint16_t* w;
    float* y;
    std::size_t outputs, first_block;
  };

  std::vector<std::shared_ptr<Constant>> weights_;  // keeps alive what their data lie in
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
    for (const ov::Output<ov::Node>& x : node->outputs()) {
      const ov::Rank rank = x.get_partial_shape().rank();
      if (x.get_element_type() != ov::element::f32 || rank.is_dynamic() || rank.get_length() < 2) continue;
      std::vector<std::shared_ptr<ov::Node>> linears;
      std::vector<std::shared_ptr<Constant>> weights;
      for (const ov::Input<ov::Node>& reader : x.get_target_inputs()) {
        const auto linear = std::dynamic_pointer_cast<MatMul>(reader.get_node()->shared_from_this());
        if (linear == nullptr || reader.get_index() != 0 || linear->get_transpose_a() || !linear->get_transpose_b()) {
          continue;
        }
        if (auto stored = StoredWeights(linear->input_value(1))) {
          linears.push_back(linear);
          weights.push_back(std::move(stored));
        }
      }
      if (linears.empty()) continue;
      const auto in_place = std::make_shared<InPlaceLinears>(x, weights);
      in_place->set_friendly_name(linears[0]->get_friendly_name());
      for (std::size_t i = 0; i < linears.size(); ++i) linears[i]->output(0).replace(in_place->output(i));
      replaced += static_cast<int>(linears.size());
    }
  }
  return replaced;
}

}  // namespace mconnect::openvino
