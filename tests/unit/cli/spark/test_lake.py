"""What `tidelog lake sync` refuses before it asks a broker or starts Spark."""

import pytest

from tidelog.cli.exits import Exit
from tidelog.cli.main import run


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--columns", "key,colour"], "--columns has colour, and records have key, value"),
        (["--on-error", "keep"], "there is no --schema"),
        (["--on-error", "dead-letter"], "needs --dead-letter TOPIC"),
        (["--dead-letter", "bad", "--on-error", "keep"], "does not go with --on-error keep"),
        (["--schema", "a.avsc", "--registry", "http://r"], "--registry does not go with --schema"),
        (["--schema", "missing.avsc"], "Cannot read missing.avsc"),
        (["--schema", "x.desc", "--decode", "protobuf"], "the message's name"),
        (["--start", "yesterday"], "is not 'earliest', 'latest' or a time"),
        (["-o", "colour=red"], 'no option "colour"'),
        (["-o", "partitonBy=x"], "did you mean partitionBy"),
    ],
)
def test_a_wrong_wish_is_refused_at_once(arguments, said, capsys, tmp_path):
    code = run(["lake", "sync", "orders", "--to", str(tmp_path / "table"), *arguments])
    assert (code, said in capsys.readouterr().err.replace("\n", " ")) == (Exit.USAGE, True)
    assert not (tmp_path / "table").exists()


def test_a_table_elsewhere_needs_a_checkpoint_here(capsys):
    assert run(["lake", "sync", "orders", "--to", "s3://bucket/orders"]) == Exit.USAGE
    assert "needs --checkpoint DIR" in capsys.readouterr().err
