/** Rows as a test tells them: a few cells each, by the columns it names. */

import type { Row } from "../../src/core/rows.ts";
import { readRows } from "../../src/core/rows.ts";

/** One row each of `cells`; the ids are `e0`, `e1` and so on, and what is not named is empty. */
export function rowsOf(columns: readonly string[], cells: readonly (readonly unknown[])[]): Row[] {
  return readRows({
    columns: ["id", ...columns],
    rows: cells.map((row, i) => [`e${i}`, ...row]),
  });
}
