/** Tests of leases: one holder at a time, and only the holder changes a tree. */
import { expect } from "@effect/vitest"
import type { Lease, StoredLease, Write } from "@skein/core/SessionStorage"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { commit, commitEach, lease, leasesOf, reasonOf, sessionOf, sessions, type Tests } from "./access.ts"
import { ids, session, write } from "./rows.ts"

const free: StoredLease = { owner: undefined, epoch: 0, until: 0, left: 0 }
const of = (owner: string, epoch: number): Lease => ({ rootID: ids.ses("root"), owner, epoch })
const hold = (owner: string, found: StoredLease, length: number): Write => ({
  _tag: "Hold",
  lease: of(owner, found.epoch + 1),
  length,
  found
})
const fence = (held: Lease): Write => ({ _tag: "Fence", lease: held })
const renew = (held: Lease, length: number): Write => ({ _tag: "Renew", lease: held, length })
const release = (held: Lease): Write => ({ _tag: "Release", lease: held })
const begin = commit([write.session(session("root"))])
const stored = lease(ids.ses("root"))
/** The current lease without its end, which depends on the clock of each backend. */
const heldBy = (owner: string | undefined, epoch: number) => ({
  owner,
  epoch,
  until: expect.any(Number),
  left: expect.any(Number)
})
const found = Effect.map(stored, Option.getOrThrow)
const titled = (title: string) => write.session(session("root", { title }))

/** The tests. */
export const leases: Tests = {
  "has no holder at first, and no lease of an unknown tree": Effect.fnUntraced(function*(use) {
    yield* use(begin)
    expect(yield* use(stored)).toEqual(Option.some(free))
    expect(yield* use(lease(ids.ses("nowhere")))).toEqual(Option.none())
    expect(
      yield* use(reasonOf(commit([{ _tag: "Fence", lease: { ...of("a", 1), rootID: ids.ses("nowhere") } }])))
    ).toBe("held")
  }),

  "lets a process acquire a tree with its first commit": Effect.fnUntraced(function*(use) {
    yield* use(commit([hold("a", free, 10_000), write.session(session("root"))]))
    expect(yield* use(stored)).toEqual(Option.some(heldBy("a", 1)))
  }),

  "returns the leases of several trees, without those that do not exist": Effect.fnUntraced(function*(use) {
    yield* use(commit([hold("a", free, 10_000), write.session(session("root")), write.session(session("other"))]))
    const several = yield* use(leasesOf([ids.ses("root"), ids.ses("nowhere"), ids.ses("other")]))
    expect(new Map(several)).toEqual(new Map([[ids.ses("root"), heldBy("a", 1)], [ids.ses("other"), free]]))
    expect((yield* use(leasesOf([]))).size).toBe(0)
  }),

  "counts the lease by its own clock, from the commit on": Effect.fnUntraced(function*(use) {
    yield* use(commitEach([write.session(session("root"))], [hold("a", free, 3_600_000)]))
    const first = yield* use(found)
    expect(first.left).toBeGreaterThan(3_500_000)
    expect(first.left).toBeLessThanOrEqual(3_600_000)
    yield* use(commit([renew(of("a", 1), 7_200_000)]))
    const renewed = yield* use(found)
    expect(renewed.left).toBeGreaterThan(7_100_000)
    expect(renewed.left).toBeLessThanOrEqual(7_200_000)
    expect(renewed.until - first.until).toBeGreaterThan(3_500_000)
    yield* use(commit([renew(of("a", 1), 0)]))
    expect((yield* use(found)).left).toBe(0)
  }),

  "lets one of two acquire the same free tree": Effect.fnUntraced(function*(use) {
    yield* use(begin)
    const results = yield* use(Effect.forEach(
      ["a", "b"],
      (owner) => reasonOf(commit([hold(owner, free, 10_000)])),
      { concurrency: "unbounded" }
    ))
    expect(results.toSorted()).toEqual(["held", "none"])
  }),

  "allows a takeover only from the expected lease": Effect.fnUntraced(function*(use) {
    yield* use(commitEach([write.session(session("root"))], [hold("a", free, 10_000)]))
    const first = yield* use(found)
    yield* use(commit([renew(of("a", 1), 20_000)]))
    // The renewal shows that the holder is alive.
    expect(yield* use(reasonOf(commit([hold("b", first, 30_000)])))).toBe("held")
    yield* use(commit([hold("b", yield* use(found), 30_000)]))
    expect(yield* use(stored)).toEqual(Option.some(heldBy("b", 2)))
    expect(yield* use(reasonOf(commit([renew(of("a", 1), 40_000)])))).toBe("held")
  }),

  "refuses the commit of a process that no longer holds the tree": Effect.fnUntraced(function*(use) {
    yield* use(commitEach([write.session(session("root"))], [hold("a", free, 10_000)]))
    yield* use(commit([fence(of("a", 1)), titled("by a")]))
    yield* use(commit([hold("b", yield* use(found), 20_000)]))
    expect(yield* use(reasonOf(commit([fence(of("a", 1)), titled("by a, too late")])))).toBe("held")
    expect(yield* use(reasonOf(commit([fence(of("a", 2)), titled("by a, who guesses")])))).toBe("held")
    const row = yield* use(sessionOf(ids.ses("root")))
    expect(Option.map(row, ({ title }) => title)).toEqual(Option.some("by a"))
    expect(yield* use(reasonOf(commit([fence(of("a", 1)), write.delete("root")])))).toBe("held")
    yield* use(commit([fence(of("b", 2)), write.delete("root")]))
    expect((yield* use(sessions({}))).rows).toEqual([])
  }),

  "refuses only the commits to that tree, among concurrent ones": Effect.fnUntraced(function*(use) {
    yield* use(commitEach(
      [write.session(session("root")), write.session(session("other", { rootID: ids.ses("other") }))],
      [hold("a", free, 10_000)]
    ))
    const results = yield* use(Effect.forEach(
      [
        [fence(of("b", 1)), titled("not mine")],
        [write.session(session("other", { rootID: ids.ses("other"), title: "mine" }))],
        [fence(of("a", 1)), titled("mine")]
      ],
      (writes) => reasonOf(commit(writes)),
      { concurrency: "unbounded" }
    ))
    expect(results).toEqual(["held", "none", "none"])
    expect((yield* use(sessions({}))).rows.map(({ title }) => title)).toEqual(["mine", "mine"])
  }),

  "releases a tree, and the next holder has the next epoch": Effect.fnUntraced(function*(use) {
    yield* use(commitEach([write.session(session("root"))], [hold("a", free, 10_000)]))
    yield* use(commit([fence(of("a", 1)), titled("last words"), release(of("a", 1))]))
    expect(yield* use(stored)).toEqual(Option.some({ ...free, epoch: 1 }))
    expect(yield* use(reasonOf(commit([fence(of("a", 1)), titled("after that")])))).toBe("held")
    // Releasing a tree that is not held does nothing.
    yield* use(commit([hold("b", { ...free, epoch: 1 }, 20_000)]))
    yield* use(commit([release(of("a", 1))]))
    expect(yield* use(stored)).toEqual(Option.some(heldBy("b", 2)))
  }),

  "keeps the lease when the session is stored again": Effect.fnUntraced(function*(use) {
    yield* use(commitEach([write.session(session("root"))], [hold("a", free, 10_000)], [titled("again")]))
    expect(yield* use(stored)).toEqual(Option.some(heldBy("a", 1)))
  })
}
