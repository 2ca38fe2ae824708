"""An administrator that revokes permissions and grants them again, and remembers what it was promised."""

import asyncio

from tidelog.base.errors import ErrorCode
from tidelog.security.acls.acl import Acl
from tidelog.testing.sim.clients.client import ERRORS, Client
from tidelog.testing.sim.clients.permissions import EVERYBODY, PermissionLedger, Revocation
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.create_acls import AclCreation, CreateAclsRequest
from tidelog.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest

ACLS_VERSION = 3


class AclChurn:
    def __init__(self, client: Client, ledger: PermissionLedger, revocations: list[Revocation]) -> None:
        self._client = client
        self._ledger = ledger
        self._revocations = revocations
        self._made: set[Acl] = set()
        self._unclear: set[Acl] = set()
        """Those with a request that got no answer: it may arrive at any time, even after later ones."""
        self.present: dict[Acl, None] = {}
        """ACLs that must be there."""
        self.absent: dict[Acl, None] = {}
        """ACLs that must not."""
        self.complaints: list[str] = []
        self.is_stopping = False

    async def run(self) -> None:
        while not self.is_stopping and not await self._create(EVERYBODY):
            await self._client.pause()
        while not self.is_stopping:
            await asyncio.sleep(self._client.chance.uniform(0.1, 0.8))
            revocation = self._client.chance.choice(self._revocations)
            self._ledger.begin_term(revocation)
            if revocation.acl not in self._made:
                await self._create(revocation.acl)
            elif not await self._delete(revocation.acl):
                self._ledger.give_up(revocation)

    async def _create(self, acl: Acl) -> bool:
        self.absent.pop(acl, None)  # until its fate is clear
        creation = AclCreation(
            resource_type=acl.resource_type,
            resource_name=acl.resource_name,
            resource_pattern_type=acl.pattern_type,
            principal=acl.principal,
            host=acl.host,
            operation=acl.operation,
            permission_type=acl.permission,
        )
        request = CreateAclsRequest(creations=[creation])
        try:
            answer = await self._client.call_any(ApiKey.CREATE_ACLS, ACLS_VERSION, request, 2.0)
        except OSError:
            self._unclear.add(acl)
            return False
        if ERRORS[answer.results[0].error_code] is not ErrorCode.NONE:
            self._unclear.add(acl)
            return False
        self._made.add(acl)
        self.present[acl] = None
        return True

    async def _delete(self, acl: Acl) -> bool:
        """Whether it was acknowledged."""
        self._made.discard(acl)
        self.present.pop(acl, None)
        wanted = DeleteAclsFilter(
            resource_type_filter=acl.resource_type,
            resource_name_filter=acl.resource_name,
            pattern_type_filter=acl.pattern_type,
            principal_filter=acl.principal,
            host_filter=acl.host,
            operation=acl.operation,
            permission_type=acl.permission,
        )
        request = DeleteAclsRequest(filters=[wanted])
        try:
            answer = await self._client.call_any(ApiKey.DELETE_ACLS, ACLS_VERSION, request, 2.0)
        except OSError:
            self._unclear.add(acl)
            return False
        if ERRORS[answer.filter_results[0].error_code] is not ErrorCode.NONE:
            self._unclear.add(acl)
            return False
        self.absent[acl] = None
        return True

    def compare(self, acls: frozenset[Acl]) -> None:
        """With what the healed cluster has."""
        for acl in self.present:
            if acl not in acls and acl not in self._unclear:
                self.complaints.append(f"the creation of {acl} was acknowledged, and it is not there")
        for acl in self.absent:
            if acl in acls and acl not in self._unclear:
                self.complaints.append(f"the deletion of {acl} was acknowledged, and it is there")
