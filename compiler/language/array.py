"""Arrays of variables."""

from dataclasses import dataclass

from .expression import Expression, Name, Operand
from .primary import Element


@dataclass
class Array:
    """An array of a kernel's variables, which may be a single one."""

    name: str
    count: int
    type: str
    """That of its elements."""
    single: bool = False
    """Whether it is declared as one variable."""
    constant: bool = False
    """Whether its elements keep the values that they are filled with."""
    only: Expression | None = None
    """What stands for a single element that does."""

    def __call__(self, index: Operand) -> Expression:
        """The element at an index."""
        if self.only is not None:
            return self.only
        if self.single:
            return Name(self.name, self.type, changes=True)
        return Element(Name(self.name), index, self.type)

    def __str__(self) -> str:
        return self.name
