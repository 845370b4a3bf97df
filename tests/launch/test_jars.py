"""The jars of the data folder: checked by their checksums, never incomplete."""

import hashlib
import os
from pathlib import Path

import pytest

from launch.errors import CannotStartError
from launch.setup.data_dir import home_folder
from launch.setup.jar_pins import JAR_SETS, KAFKA_BROKER, MIRROR_MAKER, REGION_JAR_SETS, SPARK_CONNECTOR, JarPin, JarSet
from launch.setup.jars import (
    broker_classpath,
    install_jars,
    jar_faults,
    mirror_classpath,
    resolve_jars,
    spark_connector_jars,
)

ONE = JarPin("org.example:one:1.0", hashlib.sha256(b"one").hexdigest())
TWO = JarPin("org.example.deep:two_2.13:2.0-preview1", hashlib.sha256(b"two").hexdigest())
PAIR = JarSet("pair", (ONE, TWO))


@pytest.fixture
def fetched(tmp_path: Path) -> Path:
    folder = tmp_path / "fetched"
    folder.mkdir()
    (folder / "one-1.0.jar").write_bytes(b"one")
    (folder / "two_2.13-2.0-preview1.jar").write_bytes(b"two")
    return folder


@pytest.fixture
def set_up_home(tmp_path: Path) -> Path:
    """Return a data folder of its own that shares the jars of the real one."""
    real = home_folder()
    if jar_faults(real):
        pytest.skip(f"the jars are not in {real}; run `make setup`")
    for jars in JAR_SETS:
        folder = tmp_path / "jars" / jars.name
        folder.mkdir(parents=True)
        for pin in jars.pins:
            os.symlink(real / "jars" / jars.name / pin.file_name, folder / pin.file_name)
    return tmp_path


def test_every_pin_is_a_full_coordinate_with_a_checksum() -> None:
    pins = [pin for jars in (*JAR_SETS, *REGION_JAR_SETS) for pin in jars.pins]
    assert all(len(pin.coordinate.split(":")) == 3 and len(bytes.fromhex(pin.sha256)) == 32 for pin in pins)
    for jars in (*JAR_SETS, *REGION_JAR_SETS):
        assert len({pin.file_name for pin in jars.pins}) == len(jars.pins)


def test_the_broker_is_kept_off_sparks_class_path() -> None:
    assert not any("kafka_2.13" in pin.coordinate or "kafka-server" in pin.coordinate for pin in SPARK_CONNECTOR.pins)
    assert any(pin.coordinate == "org.apache.kafka:kafka_2.13:4.3.1" for pin in KAFKA_BROKER.pins)


def test_checked_jars_are_moved_and_old_ones_go(fetched: Path, tmp_path: Path) -> None:
    folder = tmp_path / "jars"
    folder.mkdir()
    (folder / "one-0.9.jar").write_bytes(b"old")
    install_jars(fetched, folder, PAIR)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        "one-1.0.jar": b"one",
        "two_2.13-2.0-preview1.jar": b"two",
    }


@pytest.mark.parametrize("content", [b"tampered", b"", None])
def test_a_differing_checksum_is_one_sentence_and_moves_nothing(
    fetched: Path, tmp_path: Path, content: bytes | None
) -> None:
    second = fetched / TWO.file_name
    second.unlink() if content is None else second.write_bytes(content)
    with pytest.raises(CannotStartError, match=r"org\.example\.deep:two_2\.13:2\.0-preview1 does not match its pinned"):
        install_jars(fetched, tmp_path / "jars", PAIR)
    assert not (tmp_path / "jars").exists()


def test_an_empty_data_folder_asks_for_set_up(tmp_path: Path) -> None:
    for ask in (spark_connector_jars, broker_classpath):
        with pytest.raises(CannotStartError, match="run `make setup`"):
            ask(tmp_path)
    assert set(jar_faults(tmp_path).values()) == {"missing"}


def test_what_is_there_is_not_fetched_again(set_up_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # without a Java nothing could be fetched
    monkeypatch.setenv("JAVA_HOME", str(set_up_home / "nowhere"))
    said: list[str] = []
    resolve_jars(set_up_home, said.append)
    assert said == ["48 jars present, checksums match"]
    assert not (set_up_home / "jars" / "lock").exists()


@pytest.mark.parametrize(("content", "fault"), [(b"tampered", "differs"), (None, "missing")])
def test_a_damaged_jar_is_noticed(
    set_up_home: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None, fault: str
) -> None:
    pin = KAFKA_BROKER.pins[0]
    damaged = set_up_home / "jars" / "kafka" / pin.file_name
    damaged.unlink()
    if content is not None:
        damaged.write_bytes(content)
    assert jar_faults(set_up_home) == {pin: fault}
    monkeypatch.setenv("JAVA_HOME", str(set_up_home / "nowhere"))
    with pytest.raises(CannotStartError, match="Java 17"):
        resolve_jars(set_up_home, lambda _: None)


def test_the_brokers_class_path_begins_with_what_pyspark_lends(set_up_home: Path) -> None:
    names = [Path(entry).name for entry in broker_classpath(set_up_home).split(os.pathsep)]
    assert [name.rsplit("-", 1)[0] for name in names[:3]] == ["slf4j-api", "log4j-slf4j2-impl", "scala-library"]
    assert set(names[3:]) == {pin.file_name for pin in KAFKA_BROKER.pins}
    assert [path.name for path in spark_connector_jars(set_up_home)] == [pin.file_name for pin in SPARK_CONNECTOR.pins]


def test_mirror_maker_is_of_the_brokers_version_and_shares_its_jars() -> None:
    broker = {pin.coordinate for pin in KAFKA_BROKER.pins}
    own = {pin.coordinate for pin in MIRROR_MAKER.pins}
    assert "org.apache.kafka:connect-mirror:4.3.1" in own
    assert {one.split(":")[2] for one in own | broker if one.startswith("org.apache.kafka:")} == {"4.3.1"}
    # two versions of one jar on a class path would hide each other
    assert not {one.rpartition(":")[0] for one in own} & {one.rpartition(":")[0] for one in broker}


def test_what_regions_need_is_asked_for_by_name(set_up_home: Path) -> None:
    assert jar_faults(set_up_home) == {}
    with pytest.raises(CannotStartError, match="run `make regions`"):
        mirror_classpath(set_up_home)
    folder = set_up_home / "jars" / MIRROR_MAKER.name
    folder.mkdir()
    for pin in MIRROR_MAKER.pins:
        (folder / pin.file_name).touch()
    broker, own = broker_classpath(set_up_home), [pin.file_name for pin in MIRROR_MAKER.pins]
    classpath = mirror_classpath(set_up_home)
    assert classpath.startswith(broker)
    assert [Path(entry).name for entry in classpath.split(os.pathsep)[-len(own) :]] == own
    assert set(jar_faults(set_up_home, REGION_JAR_SETS).values()) == {"differs"}
