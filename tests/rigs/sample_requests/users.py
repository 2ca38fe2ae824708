"""Users: their quotas, their SCRAM credentials, their delegation tokens."""

from tests.rigs.sample_requests.sample import Sample
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    EntityData,
    OpData,
)
from tidelog.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
)
from tidelog.wire.messages.create_delegation_token import CreateDelegationTokenRequest
from tidelog.wire.messages.describe_client_quotas import DescribeClientQuotasRequest
from tidelog.wire.messages.describe_delegation_token import DescribeDelegationTokenRequest
from tidelog.wire.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest

_QUOTA = AlterClientQuotasRequestEntryData(
    entity=[EntityData(entity_type="user", entity_name="bob")],
    ops=[OpData(key="producer_byte_rate", value=1e6)],
)
_TOKEN = Sample(
    ApiKey.CREATE_DELEGATION_TOKEN,
    CreateDelegationTokenRequest(owner_principal_type="User", owner_principal_name="bob", max_lifetime_ms=-1),
)

SAMPLES = [
    Sample(ApiKey.DESCRIBE_CLIENT_QUOTAS, DescribeClientQuotasRequest()),
    Sample(ApiKey.ALTER_CLIENT_QUOTAS, AlterClientQuotasRequest(entries=[_QUOTA])),
    Sample(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, DescribeUserScramCredentialsRequest(users=None)),
    Sample(
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
        AlterUserScramCredentialsRequest(deletions=[ScramCredentialDeletion(name="bob", mechanism=1)]),
    ),
    _TOKEN,
    Sample(
        ApiKey.DESCRIBE_DELEGATION_TOKEN,
        DescribeDelegationTokenRequest(owners=None),
        hides=True,
        before=(_TOKEN,),
    ),
]
