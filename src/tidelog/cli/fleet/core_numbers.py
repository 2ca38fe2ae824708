"""Core k of broker n is broker n + 1000 k, and listens 100 k ports higher in a cluster of `tidelog up`.

A machine that has its computer to itself counts its ports up one by one. Here the next ports are those of
other machines, which keep them when the number of cores or of machines changes.
"""

ID_STEP = 1000
PORT_STEP = 100


def core_id(broker: int, core: int) -> int:
    return broker + ID_STEP * core


def port_row(first: int, cores: int, step: int = PORT_STEP) -> range:
    """The ports at which the cores of one machine listen."""
    return range(first, first + cores * step, step)


def row_text(cores: int, step: int) -> str:
    return f"{cores} ports in a row" if step == 1 else f"{cores} ports, {step} apart"
