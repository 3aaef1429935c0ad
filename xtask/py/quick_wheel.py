"""Packs the Python package as a wheel from programs that are built already: `cargo xtask wheel --check`.

usage: quick_wheel.py PACKAGE NATIVE DIST_INFO OUT

PACKAGE is the folder of the package, whose programs are in place, NATIVE the native module, DIST_INFO the
metadata that maturin wrote, and OUT the folder of the wheel. Prints the wheel's path. maturin itself would
compile everything again: it builds the package alone, and its libraries then have other features.
"""

import pathlib
import sys
import zipfile

package, native, dist_info, out = map(pathlib.Path, sys.argv[1:])
tag = next(line for line in (dist_info / "WHEEL").read_text().splitlines() if line.startswith("Tag: "))[5:]
sources, data = package / "python", package / "prlx.data"
name = dist_info.name.removesuffix(".dist-info")
files = {file.relative_to(sources).as_posix(): file for file in sources.rglob("*") if file.is_file()}
files = {to: file for to, file in files.items() if "__pycache__" not in to}
files |= {f"{name}.data/{file.relative_to(data)}": file for file in data.rglob("*") if file.is_file()}
files["prlx/_native.abi3.so"] = native
information = [file for file in dist_info.rglob("*") if file.is_file()]
files |= {f"{dist_info.name}/{file.relative_to(dist_info)}": file for file in information}
wheel = out / f"{name}-{tag}.whl"
with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
    for to, file in sorted(files.items()):
        archive.write(file, to)
    record = f"{dist_info.name}/RECORD"
    archive.writestr(record, "".join(f"{to},,\n" for to in [*sorted(files), record]))
print(wheel)
