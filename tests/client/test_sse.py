from client.sse import Event, events


def read(text: str) -> list[Event]:
    return list(events(text.split("\n")))


def test_an_event_has_id_type_and_data():
    assert read('id: 5-0\nevent: state\ndata: {"state": "queued"}\n\n') == [
        Event("5-0", "state", {"state": "queued"})
    ]


def test_data_lines_are_joined_and_one_blank_after_the_colon_is_dropped():
    assert read('event:x\ndata: {"a":\ndata:  " b"}\n\n') == [Event("", "x", {"a": " b"})]


def test_an_id_stays_until_the_next_one_and_a_type_does_not():
    assert read("id: 1\nevent: a\ndata: {}\n\ndata: {}\n\n") == [
        Event("1", "a", {}),
        Event("1", "message", {}),
    ]


def test_a_comment_is_a_sign_of_life_and_keeps_the_id():
    assert read("id: 1\nevent: a\ndata: {}\n\n: ping\n\n") == [
        Event("1", "a", {}),
        Event("1", "comment", {}),
    ]


def test_an_event_that_was_cut_off_is_not_one():
    assert read('id: 1\nevent: a\ndata: {"x": 1}') == []
    assert read('id: 1\nevent: a\ndata: {"x": 1}\n\nid: 2\nevent: b\n') == [
        Event("1", "a", {"x": 1})
    ]


def test_unknown_fields_and_data_that_is_no_object_are_left_out():
    assert read("retry: 100\nfoo\n\ndata: [1]\n\ndata: nonsense\n\ndata: {}\n\n") == [
        Event("", "message", {})
    ]
