"""A file is read once while it stays as it is; a change of it, a link to another, an error are
seen."""

import os

import pytest

from core.models.files.memory import remembered, remembered_folder


def test_a_file_is_read_again_when_it_changed(tmp_path):
    path, read = tmp_path / "a.txt", []
    reader = remembered(lambda path: read.append(path) or path.read_text())
    path.write_text("one")
    assert [reader(path), reader(path)] == ["one", "one"]
    path.write_text("three")
    assert [reader(path), reader(path)] == ["three", "three"]
    os.utime(path, ns=(1, 1))
    assert reader(path) == "three"
    assert len(read) == 3


def test_another_content_of_the_same_size_and_time_is_read(tmp_path):
    """As an archive unpacks it whose files all have one time, into the file that was there."""
    path, reader = tmp_path / "a.txt", remembered(lambda path: path.read_text())
    for text in ("one", "two"):
        path.write_text(text)
        os.utime(path, ns=(1, 1))
        assert reader(path) == text


def test_a_link_that_points_elsewhere_is_read_again(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).write_text(name)
        os.utime(tmp_path / name, ns=(1, 1))
    link, reader = tmp_path / "link", remembered(lambda path: path.read_text())
    link.symlink_to(tmp_path / "one")
    assert reader(link) == "one"
    link.unlink()
    link.symlink_to(tmp_path / "two")
    assert reader(link) == "two"


def test_an_error_is_not_remembered(tmp_path):
    path, reader = tmp_path / "a.txt", remembered(lambda path: int(path.read_text()))
    path.write_text("x")
    status = path.stat()
    with pytest.raises(ValueError, match="invalid"):
        reader(path)
    path.write_text("7")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert reader(path) == 7
    path.unlink()
    with pytest.raises(FileNotFoundError):
        reader(path)


def test_a_folder_is_read_again_when_one_of_its_files_changed_came_or_went(tmp_path):
    read = []
    reader = remembered_folder(lambda folder: read.append(folder) or len(list(folder.iterdir())))
    (tmp_path / "a").write_text("one")
    assert [reader(tmp_path), reader(tmp_path)] == [1, 1]
    assert len(read) == 1
    (tmp_path / "b").symlink_to(tmp_path / "nowhere")
    assert reader(tmp_path) == 2
    (tmp_path / "nowhere").write_text("there now")
    assert reader(tmp_path) == 3
    (tmp_path / "a").write_text("three")
    reader(tmp_path)
    assert len(read) == 4
    (tmp_path / "a").unlink()
    assert reader(tmp_path) == 2


def test_a_missing_folder_is_an_error_of_the_file_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        remembered_folder(lambda folder: 1)(tmp_path / "gone")
