"""ACLs and roles."""

from tests.rigs.sample_requests.sample import TOPIC, Sample
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.alter_roles import AlterRolesRequest, RoleChange
from tidelog.wire.messages.create_acls import AclCreation, CreateAclsRequest
from tidelog.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from tidelog.wire.messages.describe_acls import DescribeAclsRequest
from tidelog.wire.messages.describe_roles import DescribeRolesRequest

_ACL = AclCreation(
    resource_type=2, resource_name=TOPIC, principal="User:x", host="*", operation=3, permission_type=3
)
_NO_ACL = DeleteAclsFilter(
    resource_type_filter=2, resource_name_filter="none", pattern_type_filter=3, operation=1, permission_type=1
)
_ALL_ACLS = DescribeAclsRequest(resource_type_filter=1, pattern_type_filter=1, operation=1, permission_type=1)

SAMPLES = [
    Sample(ApiKey.CREATE_ACLS, CreateAclsRequest(creations=[_ACL])),
    Sample(ApiKey.DELETE_ACLS, DeleteAclsRequest(filters=[_NO_ACL])),
    Sample(ApiKey.DESCRIBE_ACLS, _ALL_ACLS),
    Sample(ApiKey.DESCRIBE_ROLES, DescribeRolesRequest()),
    Sample(ApiKey.ALTER_ROLES, AlterRolesRequest(changes=[RoleChange(name="none", kind=2)])),
]
