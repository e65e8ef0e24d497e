"""Makes a plain server execute requests with several operations."""

from __future__ import annotations

import copy
from dataclasses import fields, replace
from typing import Any, ClassVar

from spec.kv.live.reference import SEVERAL
from tests.live.plain_server import PlainServer


class Gathering(PlainServer):
    """Executes the operations of a request. It leaves some alone, as the kernel does with what its bucket lacks.

    state: the attributes of the reference that a request may change. The reference must allow any operation to be left.
    """

    state: ClassVar[tuple[str, ...]] = ("entries", "floors")

    def complete(self, answer: Any) -> None:
        if answer.kind.name not in SEVERAL.values():
            super().complete(answer)
            return
        account = self.reference.accounts.get(answer.client)
        if answer.kind.name == "GATHERED" and account is not None and account.sequence == answer.sequence:
            if account.said is not None:
                answer.operations = account.said.operations
                return
        kept, self.reference = self.reference, copy.copy(self.reference)
        for name in self.state:
            setattr(self.reference, name, copy.deepcopy(getattr(kept, name)))
        answer.operations = [self._executed(answer, asked) for asked in answer.operations]
        self.reference = kept

    def _executed(self, answer: Any, asked: Any) -> Any:
        if self._random.random() < 0.2:
            return asked
        alone = replace(answer, **vars(asked), count=0, operations=[])
        outcome = min(self.reference.outcomes(alone))
        done = replace(alone, kind=self.codec.Kind[outcome])
        super().complete(done)
        self.reference.apply(alone, outcome)
        return replace(asked, **{field.name: getattr(done, field.name) for field in fields(asked)})
