"""AlterRoles over our own codec."""

from collections.abc import Sequence

from tidelog.base.errors import ErrorCode
from tidelog.cli.acl.calls import check
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.exits import CliError, Exit
from tidelog.metadata.image.security import Grant
from tidelog.metadata.security.roles import RoleChangeKind
from tidelog.security.acls.vocabulary import Operation


def alter_role(
    cluster: DirectCluster,
    name: str,
    kind: RoleChangeKind,
    *,
    grants: Sequence[Grant] = (),
    principals: Sequence[str] = (),
) -> None:
    from tidelog.wire.messages import alter_roles as wire

    change = wire.RoleChange(
        name=name,
        kind=kind,
        grants=[
            wire.RoleGrant(
                resource_type=grant.resource_type,
                pattern_type=grant.pattern_type,
                resource_name=grant.resource_name,
                operations=list(grant.operations),
            )
            for grant in grants
        ],
        principals=list(principals),
    )
    [result] = cluster.ask(wire.AlterRolesRequest(changes=[change])).results
    if result.error_code == ErrorCode.DUPLICATE_RESOURCE:
        raise CliError(
            f"There is a role '{name}' already.",
            attempt=f"tidelog role show {name}; or the same with --replace, for other permissions",
            code=Exit.EXISTS,
        )
    check(result.error_code, result.error_message, f"Role '{name}' was not changed", Operation.ALTER)
