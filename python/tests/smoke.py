"""What works without any other package: run by each Python that the package supports."""

import pathlib
import sys
import tempfile

import rowtocol

mail = pathlib.Path(sys.argv[1])
with tempfile.TemporaryDirectory() as name:
    dest = pathlib.Path(name) / "mail.columns"
    assert rowtocol.convert(mail, dest).rows == 600
    data = rowtocol.open(dest)
    assert data.count() == 600
    assert data.count("size > 1000") == 13
    assert data.stats("size")[0]["nulls"] == 70
    assert data.inspect()["rows"] == 600
    assert rowtocol.verify(dest, against=mail).rows == 600
    try:
        data.to_arrow()
    except ImportError as e:
        assert "pip install pyarrow" in str(e), e
    else:
        raise AssertionError("there is pyarrow")
    try:
        data.count("sise > 1")
    except rowtocol.UsageError as e:
        assert "did you mean size" in str(e), e
    else:
        raise AssertionError("a wrong column passes")
    assert "row_group_size" in (rowtocol.convert.__doc__ or "")
print(sys.version.split()[0], rowtocol.__version__)
