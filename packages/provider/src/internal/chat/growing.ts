/** Serialises growing lists: each request repeats the conversation and adds a little. */

const comma = Buffer.from(",")

const nothing = Buffer.alloc(0)

/** What surrounds a list: the text `before` and `after` it, and the `first` elements, which differ each time. */
export interface Around {
  readonly before: Buffer
  readonly first: ReadonlyArray<Buffer>
  readonly after: ReadonlyArray<Buffer>
}

/** Joins elements by commas, without the empty ones. */
export const separated = (elements: ReadonlyArray<Buffer>): ReadonlyArray<Buffer> =>
  elements.filter((each) => each.length > 0).flatMap((each, at) => at === 0 ? [each] : [comma, each])

const lengthOf = (pieces: ReadonlyArray<Buffer>): number => pieces.reduce((sum, each) => sum + each.length, 0)

/**
 * Turns a writer of elements into a writer of lists. If a list begins with the same objects as an earlier one, it reuses
 * their bytes: a long conversation costs one copy, not a new serialisation.
 */
export const makeGrowing = <A extends object>(write: (element: A) => Buffer) => {
  // Keyed by the last element, so that the cache is collected together with the conversation.
  const written = new WeakMap<A, { readonly list: ReadonlyArray<A>; readonly bytes: Buffer }>()

  const isBeginning = (list: ReadonlyArray<A>) => (last: A, at: number): boolean => {
    const known = written.get(last)
    return known?.list.length === at + 1 && known.list.every((each, i) => each === list[i])
  }

  return (list: ReadonlyArray<A>, { after, before, first }: Around): Buffer => {
    const end = list.findLast(isBeginning(list))
    const known = end === undefined ? undefined : written.get(end)
    const pieces = separated([known?.bytes ?? nothing, ...list.slice(known?.list.length ?? 0).map(write)])
    const opening = separated([...first, ...pieces.slice(0, 1)])
    const whole = Buffer.concat([before, ...opening, ...pieces.slice(1), ...after])
    // Nobody asks for the shorter list again.
    if (end !== undefined) written.delete(end)
    const last = list.at(-1)
    const until = whole.length - lengthOf(after)
    if (last !== undefined) written.set(last, { list, bytes: whole.subarray(until - lengthOf(pieces), until) })
    return whole
  }
}
