"""Policies and their patterns."""

import time

import pytest

from agentkeeper import PolicyEffect
from conftest import status, unique


@pytest.fixture
def allow(client):
    """Allows by patterns, for as long as the test runs; answers the policy's id."""
    ids = []

    def allow(subject, action="call", resource="*", effect=PolicyEffect.ALLOW, id=None):
        ids.append(id or unique("policy"))
        client.set_policy(ids[-1], subject, action, resource, effect)
        return ids[-1]

    yield allow
    for id in ids:
        client.delete_policy(id)


@pytest.mark.parametrize(
    "pattern, matching, others",
    [
        ("exact", ["exact"], ["exac", "exactly", "", "Exact", "xexact"]),
        ("*", ["", "a", "a:b/c.d", "*"], []),
        ("a*", ["a", "ab", "a:*"], ["", "ba", "A"]),
        ("*a", ["a", "ba", "aa"], ["ab", ""]),
        ("a*b", ["ab", "axb", "abab", "a*b", "a:/.b"], ["a", "b", "ba", "abc"]),
        ("a*b*c", ["abc", "axbyc", "abcbc", "aabbcc"], ["acb", "ac", "abcd"]),
        ("**", ["", "anything"], []),
        ("a**b", ["ab", "a-b"], ["a"]),
        # An overlap must not count twice.
        ("ab*ba", ["abba", "abxba"], ["aba"]),
        ("a*a", ["aa", "aba"], ["a"]),
        # Nothing else is special.
        ("a?c", ["a?c"], ["abc"]),
        ("[ab]", ["[ab]"], ["a", "b"]),
        ("a.c", ["a.c"], ["abc"]),
        (r"a\*", ["a\\", "a\\x"], ["a*"]),
        ("(a|b)+$", ["(a|b)+$"], ["a"]),
        ("a\nb*", ["a\nb", "a\nb\nc"], ["a"]),
        ("ü*😀", ["ü😀", "üx😀"], ["u😀"]),
    ],
)
def test_a_star_stands_for_any_run_of_characters(client, allow, pattern, matching, others):
    """[AK-2.4-1] [AK-2.4-2]"""
    word = unique("pattern")
    for place in range(3):
        fields = [word, word, word]
        patterns = list(fields)
        patterns[place] = pattern
        id = allow(*patterns)
        for text in matching + others:
            asked = list(fields)
            asked[place] = text
            result = client.check_policy(*asked)
            assert result.allowed == (text in matching), (place, text)
            if result.allowed:
                assert result.reason == f'allowed by policy "{id}"'
        client.delete_policy(id)


def test_a_star_in_a_question_is_a_character(client, allow):
    """[AK-2.4-2]"""
    word = unique("subject")
    allow(word, "call", "tool:web")
    assert not client.check_policy(word, "call", "tool:*").allowed
    assert not client.check_policy("*", "call", "tool:web").allowed


def test_matching_takes_no_longer_for_spiteful_patterns(client, allow):
    """[AK-2.4-3]"""
    allow("a*" * 500, "a*" * 500, "*a" * 500 + "b")
    text = "a" * 60_000
    started = time.monotonic()
    assert not client.check_policy(text, text, text).allowed
    assert time.monotonic() - started < 2


def test_deny_beats_allow_and_the_smallest_id_is_named(client, allow):
    """[AK-2.4-4] [AK-2.4-5] [AK-2.4-6]"""
    subject = unique("agent")
    ask = lambda resource: client.check_policy(subject, "call", resource)
    assert (ask("r").allowed, ask("r").reason) == (False, "no matching policy")
    ids = [allow(subject, id=f"{subject}-{letter}") for letter in "ba"]
    assert (ask("r").allowed, ask("r").reason) == (True, f'allowed by policy "{ids[1]}"')
    denials = [
        allow(subject, resource="r", effect=PolicyEffect.DENY, id=f"{subject}-{letter}")
        for letter in "zY"
    ]
    # Capital letters come first.
    assert (ask("r").allowed, ask("r").reason) == (False, f'denied by policy "{denials[1]}"')
    assert ask("other").allowed


def test_deleting_an_unknown_policy_is_no_error(client):
    """[AK-2.4-9]"""
    client.delete_policy(unique("never-was"))
    assert status(client.delete_policy, "") == "INVALID_ARGUMENT"


def test_a_policy_needs_all_its_fields(client):
    """[AK-2.4-8]"""
    for fields in (
        ("", "s", "a", "r"),
        ("i", "", "a", "r"),
        ("i", "s", "", "r"),
        ("i", "s", "a", ""),
    ):
        assert status(client.set_policy, *fields, PolicyEffect.ALLOW) == "INVALID_ARGUMENT"


def test_policies_are_replaced_and_listed_in_order(client, allow):
    """[AK-2.4-7] [AK-2.4-10]"""
    subject = unique("agent")
    for letter in "cab":
        allow(subject, id=f"{subject}-{letter}")
    client.set_policy(f"{subject}-a", subject + "*", "x", "y", PolicyEffect.DENY)
    listed = client.list_policies(subject)
    assert [policy.id[-1] for policy in listed] == ["a", "b", "c"]
    assert (listed[0].subject, listed[0].effect) == (subject + "*", PolicyEffect.DENY)
    assert [policy.id for policy in client.list_policies(subject + "*")] == [f"{subject}-a"]
