// @ts-check

/** The middle one of some numbers; of none, 0. @param {ReadonlyArray<number>} numbers */
export const median = (numbers) => {
  const sorted = numbers.toSorted((a, b) => a - b)
  return ((sorted[(sorted.length - 1) >> 1] ?? 0) + (sorted[sorted.length >> 1] ?? 0)) / 2
}
