/**
 * Decides how many seeds a heavy property tries: a fifth by default, evenly spread, and all of them with
 * `SKEIN_TEST_FULL=1`.
 */

/** The distance between two seeds. Five shares no factor with the small numbers that tests take a seed modulo. */
export const stride = process.env["SKEIN_TEST_FULL"] === "1" ? 1 : 5

/** How many of `count` runs a test makes. */
export const share = (count: number): number => Math.ceil(count / stride)

/** The seeds from `first` to `last` that a test tries. */
export const seeds = (first: number, last: number): ReadonlyArray<number> =>
  Array.from({ length: share(last - first + 1) }, (_, n) => first + n * stride)
