/** Writes lists that grow: each request repeats the conversation so far, and adds a little. */

const comma = Buffer.from(",")

const nothing = Buffer.alloc(0)

/** What stands around a list: texts `before` and `after` it, and the elements that come `first` and are others each time. */
export interface Around<out A extends object> {
  readonly before: Buffer
  readonly first: ReadonlyArray<A>
  readonly after: ReadonlyArray<Buffer>
}

/** Elements with commas between them; those that are empty are left out. */
export const separated = (elements: ReadonlyArray<Buffer>): ReadonlyArray<Buffer> =>
  elements.filter((each) => each.length > 0).flatMap((each, at) => at === 0 ? [each] : [comma, each])

const lengthOf = (pieces: ReadonlyArray<Buffer>): number => pieces.reduce((sum, each) => sum + each.length, 0)

/**
 * Makes a writer of lists from one of elements. Where a list begins with the very objects that an earlier one consisted of,
 * their bytes are taken from what was written then: a copy of the whole is all that a long conversation costs.
 */
export const makeGrowing = <A extends object>(write: (element: A) => Buffer) => {
  // By the last element, so that what is kept of a conversation goes with it.
  const written = new WeakMap<A, { readonly list: ReadonlyArray<A>; readonly bytes: Buffer }>()

  const isBeginning = (list: ReadonlyArray<A>) => (last: A, at: number): boolean => {
    const known = written.get(last)
    return known?.list.length === at + 1 && known.list.every((each, i) => each === list[i])
  }

  return (list: ReadonlyArray<A>, { after, before, first }: Around<A>): Buffer => {
    const end = list.findLast(isBeginning(list))
    const known = end === undefined ? undefined : written.get(end)
    const pieces = separated([known?.bytes ?? nothing, ...list.slice(known?.list.length ?? 0).map(write)])
    const opening = separated([...first.map(write), ...pieces.slice(0, 1)])
    const whole = Buffer.concat([before, ...opening, ...pieces.slice(1), ...after])
    // What was shorter is not asked for again.
    if (end !== undefined) written.delete(end)
    const last = list.at(-1)
    const until = whole.length - lengthOf(after)
    if (last !== undefined) written.set(last, { list, bytes: whole.subarray(until - lengthOf(pieces), until) })
    return whole
  }
}
