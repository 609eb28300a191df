#include "runtime/engine/openvino/gated_linear.h"

#include <cstdint>
#include <memory>
#include <openvino/op/constant.hpp>
#include <openvino/op/matmul.hpp>
#include <openvino/op/multiply.hpp>
#include <openvino/op/reshape.hpp>
#include <set>
#include <string>
#include <vector>

namespace mconnect::openvino {
namespace {

bool IsActivation(const ov::Node& node) {
  static const std::set<std::string> kNames = {"Swish", "Gelu", "Relu", "Sigmoid", "Tanh"};
  return kNames.count(node.get_type_name()) != 0;
}

bool IsLinear(const ov::Node& node) {
  const auto* matmul = dynamic_cast<const ov::op::v0::MatMul*>(&node);
  return matmul != nullptr && dynamic_cast<const ov::op::v0::Constant*>(matmul->get_input_node_ptr(1)) != nullptr &&
         matmul->get_input_element_type(1) == ov::element::f32;
}

// The one node that reads `output`, or null.
const ov::Node* OnlyReader(const ov::Output<ov::Node>& output) {
  const auto readers = output.get_target_inputs();
  return readers.size() == 1 ? readers.begin()->get_node() : nullptr;
}

}  // namespace

int KeepGatesApart(ov::Model& model) {
  int kept = 0;
  for (const std::shared_ptr<ov::Node>& node : model.get_ordered_ops()) {
    if (!IsActivation(*node)) continue;
    const ov::Output<ov::Node> gate = node->input_value(0);
    const ov::Rank rank = gate.get_partial_shape().rank();
    const auto* product = dynamic_cast<const ov::op::v1::Multiply*>(OnlyReader(node->output(0)));
    if (!IsLinear(*gate.get_node()) || rank.is_dynamic() || product == nullptr) continue;
    // 0 keeps a dimension: the shape stays, whatever it is.
    const auto same =
        ov::op::v0::Constant::create(ov::element::i64, {static_cast<std::size_t>(rank.get_length())},
                                     std::vector<std::int64_t>(static_cast<std::size_t>(rank.get_length()), 0));
    node->input(0).replace_source_output(std::make_shared<ov::op::v1::Reshape>(gate, same, true));
    ++kept;
  }
  return kept;
}

}  // namespace mconnect::openvino
