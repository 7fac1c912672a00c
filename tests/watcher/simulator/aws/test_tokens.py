"""Session tokens live for exactly their time."""

from tests.support.simulated_aws import TurnedClock
from watcher.simulator.aws.tokens import Tokens


def test_token_is_dead_when_its_seconds_are_over(clock: TurnedClock) -> None:
    """It lives up to its last instant and dies exactly at its TTL."""
    tokens = Tokens(clock.scenario, 21_600)
    token = tokens.mint(60)
    assert tokens.seconds_left(token.text) == 60
    clock.turn(59.5)
    assert tokens.seconds_left(token.text) == 0
    clock.turn(0.5)
    assert tokens.seconds_left(token.text) is None


def test_token_life_is_cut_when_over_the_cap(clock: TurnedClock) -> None:
    """The cap wins over what was asked, and the token says so."""
    tokens = Tokens(clock.scenario, 3)
    assert tokens.mint(21_600).ttl_s == 3
    assert tokens.mint(2).ttl_s == 2


def test_tokens_are_independent_when_several_are_minted(clock: TurnedClock) -> None:
    """A new token neither ends nor extends an older one, and the dead are not kept."""
    tokens = Tokens(clock.scenario, 21_600)
    short, long = tokens.mint(10), tokens.mint(100)
    clock.turn(20)
    newest = tokens.mint(5)
    assert tokens.seconds_left(short.text) is None
    assert tokens.seconds_left(long.text) == 80
    assert set(tokens._expires_at_s) == {long.text, newest.text}


def test_tokens_are_unknown_when_all_have_been_expired(clock: TurnedClock) -> None:
    """Expiring all spares those minted later."""
    tokens = Tokens(clock.scenario, 21_600)
    old = tokens.mint(60)
    tokens.expire_all()
    assert tokens.seconds_left(old.text) is None
    assert tokens.seconds_left(tokens.mint(60).text) == 60
    assert tokens.seconds_left(None) is None
