"""What counts as a second type of one name."""

from tools.lint import type_names

_HEADER = "namespace mconnect {\n\nclass Model {\n public:\n  struct Options {\n  };\n};\n\n}  // namespace mconnect\n"


def breaches(**texts: str) -> list[str]:
    files = {f"runtime/{name.replace('_', '.')}": text for name, text in texts.items()}
    return type_names.check(list(files), files.__getitem__)


def test_a_second_type_of_one_name_is_a_breach() -> None:
    derived = "namespace mconnect {\nclass Model final : public Base {\n};\n}  // namespace mconnect\n"
    assert breaches(a_h=_HEADER, b_cc=derived) == ["runtime/b.cc: mconnect::Model is also defined in runtime/a.h"]


def test_types_apart_are_none() -> None:
    anonymous = "namespace mconnect {\nnamespace {\nstruct Model {\n};\n}  // namespace\n}  // namespace mconnect\n"
    elsewhere = "namespace mconnect::text {\nclass Model {\n};\n}  // namespace mconnect::text\n"
    member = "namespace mconnect {\nstruct Model::Impl {\n};\nclass Model;\n}  // namespace mconnect\n"
    assert not breaches(a_h=_HEADER, b_cc=anonymous, c_h=elsewhere, d_cc=member)


def test_each_test_is_a_program_of_its_own() -> None:
    assert not type_names.check(["runtime/a.h", "runtime/a_test.cc"], lambda path: _HEADER)
