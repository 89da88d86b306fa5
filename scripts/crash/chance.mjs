// @ts-check
// Reproducible random numbers.

/** Numbers that look like chance, and are the same for the same seed. @param {number} seed */
export const chance = (seed) => {
  let state = (seed * 0x9e3779b1) >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    next,
    /** A whole number from 1 to `most`. @param {number} most */
    upTo: (most) => 1 + Math.floor(next() * most),
    /** @template A @param {ReadonlyArray<A>} all @returns {A} */
    of: (all) => /** @type {A} */ (all[Math.floor(next() * all.length)])
  }
}
