import type { PermissionID } from "@skein/domain/Id"
import * as fc from "effect/FastCheck"
import { describe, expect, it } from "vitest"
import type { Dialog } from "../../src/Dialog.ts"
import { quiet } from "../../src/internal/ask/dialogQueue.ts"
import { Desk, permission, question } from "../support/dialogs.ts"

const down = "\u001b[B"
const up = "\u001b[A"
const paste = (text: string) => `\u001b[200~${text}\u001b[201~`

/** A question that keys count for. */
const asked = (...waiting: ReadonlyArray<Dialog>) => new Desk(...waiting).wait(quiet)

describe("a letter never answers", () => {
  it.each([
    "also look at util",
    "please wait",
    "please wait\r",
    "not like that\r",
    "stop, this is bad",
    "yes\r",
    "y",
    "n",
    "a",
    "p",
    "m",
    "option 1\r",
    "1. Read the file\r2. Stop\r",
    "1 \r",
    `${"a long paste 1\r".repeat(10_000)}1\r`,
    paste("1\r"),
    paste(`please\r1\r${up}\r`),
    `1${paste("\r")}`,
    "\u0004",
    "\u0002",
    "\u001b[1;5A\r",
    "\u001by\r"
  ])("%j", (words) => {
    for (const dialog of [permission("per_1"), question("prt_1"), question("prt_1", { options: [] })]) {
      const desk = asked(dialog)
      expect(desk.type(words)).toEqual([])
      expect(desk.wait(quiet).state?.selected).toBeUndefined()
      const typed = asked(dialog)
      expect(typed.type(...words.slice(0, 200))).toEqual([])
      expect(typed.wait(quiet).state?.selected).toBeUndefined()
    }
  })

  it.each(["1\rthen go on", "1\n2\n3\n"])("%j at once", (words) => {
    expect(asked(permission("per_1")).type(words)).toEqual([])
  })

  it("whatever prose is typed or pasted, by whatever reads", () => {
    const prose = fc.stringMatching(/^[a-zA-Z ][a-zA-Z0-9 ,.!?\r\n-]{0,60}$/)
    fc.assert(
      fc.property(prose, fc.array(fc.nat(20), { maxLength: 10 }), (words, cuts) => {
        const desk = asked(permission("per_1"))
        let at = 0
        for (const cut of cuts) {
          desk.type(words.slice(at, at + cut))
          at += cut
        }
        expect(desk.type(words.slice(at))).toEqual([])
        expect(desk.dialogs.take()).toEqual([])
      })
    )
  })
})

describe("a choice", () => {
  const permissions = ["once", "always tree", "always project", "reject"] as const

  it.each(permissions.map((answer, at) => [answer, at] as const))("%s is selected by a digit", (answer, at) => {
    const [reply, scope = "tree"] = answer.split(" ")
    expect(asked(permission("per_1")).type(String(at + 1), "\r")).toEqual([
      { kind: "permission", id: "per_1", reply, scope, message: undefined }
    ])
    expect(asked(permission("per_1")).type(`${at + 1}\r`)).toHaveLength(1)
  })

  it("is selected by arrows, and nothing is at first", () => {
    const desk = asked(permission("per_1"))
    expect(desk.type("\r", "\n")).toEqual([])
    expect(desk.state?.selected).toBeUndefined()
    desk.type(down)
    expect(desk.state?.selected).toBe(0)
    desk.type(down, down, up)
    expect(desk.state?.selected).toBe(1)
    desk.type("\u001b")
    expect(desk.state?.selected).toBeUndefined()
    desk.type(up)
    expect(desk.state?.selected).toBe(4)
    desk.type(down)
    expect(desk.type("\u001bOB", "\r")).toMatchObject([{ reply: "always", scope: "tree" }])
  })

  it("is not there for always where no rule can allow it, and a digit beyond the last one is no choice", () => {
    const desk = asked(permission("per_1", { always: [] }))
    expect(desk.type("2", "\r")).toMatchObject([{ reply: "reject", message: undefined }])
    const other = asked(permission("per_1", { always: [] }))
    expect(other.type("4\r")).toEqual([])
    expect(other.state).toMatchObject({ selected: undefined, ignoresKeysFor: quiet - 20 })
  })

  it("of no opens a line for the reason, which a paste cannot send", () => {
    const desk = asked(permission("per_1"))
    expect(desk.type("5", "\r", "not ", "1y世\u007f", paste("today\rplease\n"))).toEqual([])
    expect(desk.state?.words).toBe("not 1ytoday please ")
    expect(desk.type("\r")).toEqual([
      { kind: "permission", id: "per_1", reply: "reject", scope: "tree", message: "not 1ytoday please" }
    ])
    expect(desk.type("x", "\r")).toEqual([])
  })

  it("of a reason can be taken back", () => {
    const desk = asked(permission("per_1"))
    desk.type("5\r", "words", "\u001b")
    expect(desk.state).toMatchObject({ words: undefined, selected: 4 })
    desk.type("\r", "never\u0015mind")
    expect(desk.state?.words).toBe("mind")
  })
})

describe("quiet", () => {
  it("is needed from the moment in which the question is on the screen", () => {
    const desk = new Desk(permission("per_1"))
    expect(desk.type("1\r")).toEqual([])
    expect(desk.state).toMatchObject({ selected: undefined, ignoresKeysFor: quiet - 20 })
    desk.wait(quiet - 40)
    expect(desk.type("1\r")).toEqual([])
    desk.wait(quiet)
    expect(desk.type("1\r")).toHaveLength(1)
  })

  it("is needed after what was typed before there was a question", () => {
    const desk = new Desk()
    desk.wait(1_000).type("also look")
    desk.dialogs.add(permission("per_1"))
    desk.wait(0).type("1\r")
    expect(desk.wait(quiet - 30).type("1\r")).toEqual([])
  })

  it("is needed again for the next question", () => {
    const desk = asked(permission("per_1"), permission("per_2"))
    expect(desk.state?.count).toBe(2)
    expect(desk.type("1\r", "1\r")).toMatchObject([{ id: "per_1" }])
    desk.dialogs.remove("per_1" as PermissionID)
    expect(desk.state?.dialog.request.id).toBe("per_2")
    expect(desk.type("1\r")).toEqual([])
    expect(desk.wait(quiet).type("1\r")).toMatchObject([{ id: "per_2" }])
  })

  it("begins when there is room for the question", () => {
    const desk = asked(permission("per_1"))
    desk.dialogs.drawn(undefined, desk.now)
    expect(desk.type("1\r")).toEqual([])
  })
})

describe("a question of an agent", () => {
  it("is answered by one of its options, by words, or not at all", () => {
    expect(asked(question("prt_1")).type("2", "\r")).toEqual([{ kind: "question", id: "prt_1", answers: ["blue"] }])
    expect(asked(question("prt_1")).type("3\r", " ", "\r", "in 2 days", "\r")).toEqual([
      { kind: "question", id: "prt_1", answers: ["in 2 days"] }
    ])
    expect(asked(question("prt_1")).type("4\r")).toEqual([{ kind: "question", id: "prt_1", answers: undefined }])
    expect(asked(question("prt_1", { options: [] })).type("1\r", "7\r")).toMatchObject([{ answers: ["7"] }])
  })

  it("takes several options where that is asked for, and words beside them", () => {
    const several = () => asked(question("prt_1", { multiple: true }))
    const desk = several()
    expect(desk.type("3\r")).toEqual([])
    expect(desk.type("2\r", "1\r", "2\r")).toEqual([])
    expect(desk.state?.choices.map(({ label }) => label.slice(0, 7))).toEqual([
      "[x] red",
      "[ ] blu",
      "Send wh",
      "Write a",
      "No answ"
    ])
    expect(desk.type("3\r")).toEqual([{ kind: "question", id: "prt_1", answers: ["red"] }])
    expect(several().type("2\r", "4\r", "and green", "\r")).toMatchObject([{ answers: ["blue", "and green"] }])
  })

  it("waits behind those for permission, and stays once it is on the screen", () => {
    const desk = asked(question("prt_1"), permission("per_1"))
    expect(desk.state?.dialog.kind).toBe("permission")
    desk.dialogs.remove("per_1" as PermissionID)
    expect(desk.state?.dialog.kind).toBe("question")
    desk.dialogs.add(permission("per_2"))
    expect(desk.state?.dialog.kind).toBe("question")
  })
})

it("questions that were answered elsewhere are gone", () => {
  const desk = asked(permission("per_1"), permission("per_2"))
  expect(desk.dialogs.remove("per_2" as PermissionID)).toBeUndefined()
  desk.type("5\r", "half a reason")
  expect(desk.dialogs.remove("per_1" as PermissionID)?.request.id).toBe("per_1")
  expect(desk.state).toBeUndefined()
  expect(desk.type("\r")).toEqual([])
})

it("a closed terminal denies what waits, and what comes", () => {
  const desk = asked(permission("per_1"), question("prt_1"))
  desk.dialogs.close()
  desk.dialogs.close()
  desk.dialogs.add(permission("per_2"))
  const message = "Nobody can be asked: the terminal is closed."
  expect(desk.type("1\r")).toMatchObject([
    { id: "per_1", reply: "reject", message },
    { id: "prt_1", answers: undefined },
    { id: "per_2", reply: "reject", message }
  ])
})

describe("a question that is asked again, as after a restart of a server", () => {
  it("waits once, and takes an answer again where the first one got lost", () => {
    const desk = asked(permission("per_1"), permission("per_2"))
    desk.dialogs.add(permission("per_2"))
    expect(desk.state?.count).toBe(2)
    expect(desk.type("1\r")).toMatchObject([{ id: "per_1", reply: "once" }])
    expect(desk.type("1\r")).toEqual([])
    desk.dialogs.add(permission("per_1"))
    expect(desk.state?.count).toBe(2)
    expect(desk.wait(quiet).type("1\r")).toMatchObject([{ id: "per_1", reply: "once" }])
    desk.dialogs.remove("per_1" as PermissionID)
    desk.dialogs.remove("per_2" as PermissionID)
    expect(desk.state).toBeUndefined()
  })
})
