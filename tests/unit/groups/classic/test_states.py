from tidelog.groups.classic.states import NEXT, State, can_rebalance


def test_every_state_is_in_the_table_and_dead_is_the_end():
    assert set(NEXT) == set(State)
    assert NEXT[State.DEAD] == set()
    assert all(State.DEAD in following for state, following in NEXT.items() if state is not State.DEAD)


def test_where_a_rebalance_may_begin():
    assert {state for state in State if can_rebalance(state)} == {
        State.EMPTY,
        State.STABLE,
        State.COMPLETING_REBALANCE,
    }
