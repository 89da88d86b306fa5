// @ts-check
// Runs the parts of a benchmark, and prints each figure beside its target.

/** @typedef {{ readonly name: string, readonly value: string, readonly target: string, readonly met: boolean }} Row `target` is empty if there is none */

/**
 * Measures the parts named in `only`, separated by commas. The process fails if a figure misses its target.
 * @param {Readonly<Record<string, () => Promise<ReadonlyArray<Row>>>>} parts
 * @param {string} only
 */
export const measureParts = async (parts, only) => {
  let failed = false
  for (const part of only.split(",")) {
    const measure = parts[part]
    if (measure === undefined) throw new Error(`There is no part ${part}. There are ${Object.keys(parts).join(", ")}.`)
    for (const { met, name, target, value } of await measure()) {
      failed ||= !met
      const goal = target === "" ? "" : `  (${target})`
      console.log(`${met ? "ok  " : "MISS"} ${name.padEnd(62)} ${value.padStart(16)}${goal}`)
    }
  }
  process.exit(failed ? 1 : 0)
}
