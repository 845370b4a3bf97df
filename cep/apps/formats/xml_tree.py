"""XML as a tree of bounded depth and size. No document type is read, so there are no entities to expand or to fetch."""

from dataclasses import dataclass, field
from xml.parsers import expat

from cep.apps.formats.typed_values import check_size

DEEPEST = 64
MOST_NODES = 30_000
"""Elements and attributes of one message."""
_SEPARATOR = " "
"""Between a namespace and a name; neither has one."""


@dataclass(slots=True)
class XmlElement:
    """`name`: without its prefix; `space`: its namespace, empty if it has none. `attributes`: (namespace, name) →
    value. `texts`: its own text and that below it, in order. `size`: how many elements it is, with all below it."""

    space: str
    name: str
    attributes: dict[tuple[str, str], str] = field(default_factory=dict)
    children: list["XmlElement"] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    size: int = 1

    @property
    def text(self) -> str:
        """Return all text in it, in the order of the document."""
        return "".join(self.texts)


def xml_root(message: bytes) -> XmlElement:
    """Return the root of the message. Raises ValueError if it is no XML, declares a document type, or is deeper or
    larger than what is read."""
    check_size(message)
    reader = _TreeReader()
    parser = expat.ParserCreate(namespace_separator=_SEPARATOR)
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.take
    parser.StartDoctypeDeclHandler = _refuse
    try:
        parser.Parse(message, True)
    except expat.ExpatError as error:
        raise ValueError(f"no XML ({error})") from error
    except (LookupError, UnicodeError) as error:
        # of an encoding that nobody knows
        raise ValueError(f"no XML ({error})") from error
    if reader.root is None:
        raise ValueError("no XML (there is no element)")
    return reader.root


class _TreeReader:
    def __init__(self) -> None:
        self.root: XmlElement | None = None
        self._open: list[XmlElement] = []
        self._nodes = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._nodes += 1 + len(attributes)
        if self._nodes > MOST_NODES:
            raise ValueError(f"more than {MOST_NODES:,} elements and attributes")
        if len(self._open) >= DEEPEST:
            raise ValueError(f"nested more than {DEEPEST} levels deep")
        element = XmlElement(*_named(name), {_named(one): value for one, value in attributes.items()})
        if self._open:
            self._open[-1].children.append(element)
        else:
            self.root = element
        self._open.append(element)

    def end(self, _name: str) -> None:
        size = self._open.pop().size
        if self._open:
            self._open[-1].size += size

    def take(self, text: str) -> None:
        # a text of n characters below d elements is n * d references to one string
        for one in self._open:
            one.texts.append(text)


def _named(name: str) -> tuple[str, str]:
    space, _, own = name.rpartition(_SEPARATOR)
    return space, own


def _refuse(*_: object) -> None:
    raise ValueError("a document type (<!DOCTYPE …>) is not read")
