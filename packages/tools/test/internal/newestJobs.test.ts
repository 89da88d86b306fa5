import { expect, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Scheduler from "effect/Scheduler"
import { makeNewestJobs } from "../../src/internal/workspace/keepSteps.ts"

/** Acts before one operation of the fibers that it runs: the one with this number. */
const actingAt = (number: number, act: () => void): Scheduler.Scheduler => {
  let operations = 0
  return {
    shouldYield: () => {
      if (++operations === number) act()
      return false
    },
    scheduleTask: (task, priority) => Scheduler.defaultScheduler.scheduleTask(task, priority)
  }
}

it.scoped("runs the last job that is offered, at whatever moment that is", () =>
  Effect.gen(function*() {
    for (let moment = 1; moment <= 100; moment++) {
      const ran: Array<string> = []
      const jobs = yield* makeNewestJobs(0, (_: "key", job: string) => Effect.sync(() => ran.push(job)))
      let isOffered = false
      const scheduler = actingAt(moment, () => {
        isOffered = ran.length > 0
        if (isOffered) Effect.runSync(jobs.offer("key", "last"))
      })
      yield* Effect.withScheduler(jobs.offer("key", "first"), scheduler)
      yield* jobs.settled
      expect(ran, `offered before operation ${moment}`).toEqual(isOffered ? ["first", "last"] : ["first"])
    }
  }))

it.scoped("runs one job of a key after the other, without those that were replaced, and lets other keys go on", () =>
  Effect.gen(function*() {
    const gate = yield* Deferred.make<void>()
    const log: Array<string> = []
    const jobs = yield* makeNewestJobs(0, (key: "a" | "b", job: string, before) =>
      Effect.gen(function*() {
        log.push(`${key} ${job} begins after ${before}, newer: ${jobs.hasNewer(key)}`)
        if (job === "1") yield* Deferred.await(gate)
        log.push(`${key} ${job} ends, newer: ${jobs.hasNewer(key)}`)
        return before + 1
      }))
    yield* jobs.offer("a", "1")
    yield* Effect.yieldNow()
    yield* jobs.offer("a", "2")
    yield* jobs.offer("a", "3")
    yield* jobs.offer("b", "4")
    yield* Effect.yieldNow()
    yield* Deferred.succeed(gate, undefined)
    yield* jobs.settled
    expect(log).toEqual([
      "a 1 begins after 0, newer: false",
      "b 4 begins after 0, newer: false",
      "b 4 ends, newer: false",
      "a 1 ends, newer: true",
      "a 3 begins after 1, newer: false",
      "a 3 ends, newer: false"
    ])
  }))

it.scoped("goes on after a job that dies", () =>
  Effect.gen(function*() {
    const ran: Array<string> = []
    const jobs = yield* makeNewestJobs(0, (_: "key", job: string) => {
      ran.push(job)
      return job === "bad" ? Effect.dieMessage("a fault") : Effect.succeed(1)
    })
    yield* jobs.offer("key", "bad")
    yield* Effect.yieldNow()
    yield* jobs.offer("key", "good")
    yield* jobs.settled
    expect(ran).toEqual(["bad", "good"])
  }))
