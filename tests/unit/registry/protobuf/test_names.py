"""What a name means where it stands: the innermost declaration, found without a look into every scope."""

from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tidelog.registry.protobuf.names import Names
from tidelog.registry.protobuf.parser import parse_text
from tidelog.registry.protobuf.scopes import Scope, scope_of

PARTS = 250
PROTO3 = 'syntax = "proto3";'


def names_of(*texts: str) -> Names:
    return Names((str(number), parse_text(PROTO3 + text)) for number, text in enumerate(texts))


def scope(text: str) -> Scope:
    return scope_of(parse_text(f"package {text};" if text else ""))


def candidates(name: str, around: str) -> Iterator[str]:
    """The obvious way: everything that the name could mean, from the inside out."""
    if name.startswith("."):
        yield name[1:]
        return
    parts = around.split(".") if around else []
    for length in range(len(parts), -1, -1):
        yield ".".join([*parts[:length], name])


dotted = st.lists(st.sampled_from("abM"), min_size=1, max_size=4).map(".".join)


@given(
    packages=st.lists(dotted, min_size=1, max_size=3),
    around=st.one_of(st.just(""), dotted),
    name=st.tuples(st.sampled_from(["", "."]), dotted).map("".join),
)
def test_a_name_means_what_the_obvious_search_finds(packages: list[str], around: str, name: str) -> None:
    names = names_of(
        *(f"package {package}; message M {{}} message a {{ message b {{}} }}" for package in packages),
        "message M { message a {} }",
    )
    full_names = {f"{package}.{one}" for package in packages for one in ("M", "a", "a.b")} | {"M", "M.a"}
    assert all(names.type(one) for one in full_names)
    expected = next((one for one in candidates(name, around) if one in full_names), None)
    assert names.resolve(name, scope(around)) == expected


class Asked(dict[str, Any]):
    """Counts how often it is asked for a name."""

    times = 0

    def __contains__(self, name: object) -> bool:
        self.times += 1
        return super().__contains__(name)


def test_only_scopes_that_have_such_a_name_are_looked_into() -> None:
    package = ".".join("p" * PARTS)
    names = names_of("package other; message T {}", f"package {package}; message M {{ message N {{}} }}")
    inside = scope(package).inside("M")
    names._types = asked = Asked(names._types)
    for name, full in (("other.T", "other.T"), ("N", f"{package}.M.N"), ("M", f"{package}.M"), ("X", None)):
        asked.times = 0
        assert names.resolve(name, inside) == full
        assert asked.times <= 1


def test_scopes_share_the_parts_of_a_package() -> None:
    """Each message and each extension keeps its place: 250 parts for each would be much."""
    around = scope(".".join("p" * PARTS))
    first, second = around.inside("A"), around.inside("B")
    assert list(first.outward())[1:] == list(second.outward())[1:]
    assert (str(first), first.prefix) == (f"{around}.A", f"{around}.A.")
    assert (str(Scope()), Scope().prefix) == ("", "")
