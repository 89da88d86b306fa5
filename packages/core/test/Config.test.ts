import { describe, expect, it } from "@effect/vitest"
import { Config, defaults, settle } from "@skein/core/Config"
import type { ConfigInfo } from "@skein/domain/ConfigInfo"
import * as Effect from "effect/Effect"

describe("settings", () => {
  it("are the defaults if none are given", () => {
    expect(settle({})).toEqual(defaults)
    expect(defaults).toMatchObject({
      default_agent: "build",
      limits: {
        subagent_depth: 3,
        concurrency: 16,
        process_concurrency: 64,
        requests: 64,
        max_tasks: 256,
        subagent_steps: 100
      },
      deadlines: { connect: 30_000, first_event: 120_000, idle: 120_000 },
      retry: { attempts: 5, base: 2_000, max_delay: 30_000 }
    })
  })

  it("are the given ones, value by value", () => {
    const settings = settle({ default_agent: "plan", limits: { concurrency: 2 }, retry: { attempts: 1 }, model: "a/b" })
    expect(settings).toEqual({
      ...defaults,
      default_agent: "plan",
      model: "a/b",
      limits: { ...defaults.limits, concurrency: 2 },
      retry: { ...defaults.retry, attempts: 1 }
    })
  })

  it("allow as many parallel requests as agents, unless set otherwise", () => {
    expect(settle({ limits: { process_concurrency: 5 } }).limits.requests).toBe(5)
    expect(settle({ limits: { process_concurrency: 5, requests: 3 } }).limits.requests).toBe(3)
  })

  it("keep a default if a key is present but undefined", () => {
    const said = { limits: { concurrency: undefined }, default_agent: undefined } as unknown as ConfigInfo
    expect(settle(said)).toMatchObject({ default_agent: "build", limits: { concurrency: 16 } })
  })

  it.effect("come from a value", () =>
    Effect.map(Config, ({ origins, settings }) => {
      expect(settings.limits.max_tasks).toBe(7)
      expect(origins).toMatchObject({
        default_agent: "default",
        "limits.max_tasks": "config",
        "limits.answer.calls": "config",
        "limits.answer.text": "default",
        "deadlines.idle": "config"
      })
    }).pipe(Effect.provide(Config.layer({
      limits: { max_tasks: 7, answer: { calls: 9 } },
      deadlines: { idle: defaults.deadlines.idle }
    }))))
})
