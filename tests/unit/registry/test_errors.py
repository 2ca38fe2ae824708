import pickle

from tidelog.registry.errors import RegistryCode, RegistryError


def test_a_code_begins_with_its_status():
    assert RegistryCode.SUBJECT_NOT_FOUND.status == 404
    assert RegistryCode.UNPROCESSABLE.status == 422
    assert all(400 <= code.status < 600 for code in RegistryCode)


def test_an_error_travels_between_processes():
    error = pickle.loads(pickle.dumps(RegistryError(RegistryCode.INVALID_SCHEMA, "no")))
    assert (error.code, error.message, str(error)) == (RegistryCode.INVALID_SCHEMA, "no", "no")
