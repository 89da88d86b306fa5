/** A session with a person in front of it: events come in, keys are typed, and what is drawn can be looked at. */
import type { Event } from "@skein/domain/Event"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import { none } from "@skein/domain/Usage"
import type { Facts } from "../../src/internal/model/Facts.ts"
import { frameOf } from "../../src/internal/model/frame.ts"
import { SessionModel } from "../../src/internal/model/SessionModel.ts"
import { KeyDecoder } from "../../src/KeyDecoder.ts"
import { Screen } from "../../src/Screen.ts"
import { colourless } from "../../src/Style.ts"
import { TestTerminal } from "./terminal.ts"

const info = (id: string, more: Readonly<Record<string, unknown>> = {}) =>
  ({
    id,
    rootID: "ses_1",
    depth: 0,
    agent: "build",
    title: "A title",
    usage: { own: none, subtree: none },
    time: { created: 0, updated: 0 },
    ...more
  }) as unknown as SessionInfo

/** What a call of a tool came to. */
export interface Called {
  readonly tool: string
  readonly input: unknown
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly output?: string
}

/** The session, the person, and the terminal between them. */
export class Seat {
  readonly model: SessionModel
  readonly terminal: TestTerminal
  readonly #screen: Screen
  readonly #decoder = new KeyDecoder()
  #parts = 0
  #message = "msg_0"
  now = 0

  constructor(isOpen = true, facts: Partial<Facts> = {}, columns = 80, rows = 24) {
    this.terminal = new TestTerminal(columns, rows)
    this.#screen = new Screen({
      write: (text) => this.terminal.write(text.replaceAll(/(?<!\r)\n/g, "\r\n")),
      size: () => ({ columns: this.terminal.columns, rows: this.terminal.rows }),
      reflow: "xtermJs"
    })
    this.model = new SessionModel(colourless, {
      directory: "/project",
      branch: "main",
      server: undefined,
      mode: "ask",
      agent: "build",
      model: "openai/m",
      context: 1_000,
      commands: [],
      agents: [{ name: "explore", isPrimary: false }],
      files: ["src/a.ts", "src/b.ts"],
      choice: { agent: undefined, model: undefined },
      ...facts
    })
    this.frame()
    if (isOpen) this.begin()
    this.frame()
  }

  /** A session is open, and its agent works. */
  begin(): this {
    this.model.begin(info("ses_1"), 0)
    return this.tell("session.status", { status: { type: "busy", step: 1 } })
  }

  tell(type: string, properties: unknown, sessionID = "ses_1"): this {
    const base = { id: "evt_1", timestamp: this.now, rootID: "ses_1", depth: sessionID === "ses_1" ? 0 : 1 }
    this.model.see({ ...base, sessionID, type, properties } as Event)
    return this
  }

  /** A message of the person, or of the model. */
  message(role: "user" | "assistant"): this {
    this.#message = `msg_${++this.#parts}`
    const base = { id: this.#message, sessionID: "ses_1", role, time: { created: this.now } }
    const model = { agent: "build", providerID: "openai", modelID: "m", usage: none }
    return this.tell("message.updated", { info: role === "user" ? base : { ...base, ...model } })
  }

  /** A part of the message, as it is stored. */
  part(part: Readonly<Record<string, unknown>>): this {
    const base = { id: `prt_${++this.#parts}`, sessionID: "ses_1", messageID: this.#message }
    return this.tell("message.part.updated", { part: { ...base, ...part } })
  }

  prompted(text: string): this {
    return this.message("user").part({ type: "text", text }).message("assistant")
  }

  /** The model has written this. */
  said(text: string): this {
    return this.part({ type: "text", text, time: { start: 0, end: 1 } })
  }

  /** The model writes this, and is not done. */
  streams(text: string): this {
    return this.tell("message.part.delta", {
      messageID: this.#message,
      partID: `prt_${this.#message}_live`,
      field: "text",
      delta: text
    })
  }

  /** The model thinks this, and is not done. */
  thinks(text: string): this {
    const partID = `prt_${this.#message}_thought`
    return this.tell("message.part.delta", { messageID: this.#message, partID, field: "reasoning", delta: text })
  }

  /** The thought, as it is stored. */
  thought(text: string): this {
    const time = { start: 0, end: 2_000 }
    return this.part({ id: `prt_${this.#message}_thought`, type: "reasoning", text, time })
  }

  called({ input, metadata = {}, output = "", tool }: Called): this {
    const state = { status: "completed", input, output, title: "", metadata, time: { start: 0, end: 200 } }
    return this.part({ type: "tool", callID: "c", tool, state })
  }

  /** A subagent begins. */
  delegated(name: string, description: string): this {
    const id = `ses_${name}`
    const child = info(id, { parentID: "ses_1", depth: 1, agent: "explore", title: description })
    return this
      .tell("session.created", { info: child }, id)
      .tell("subagent.created", { task_id: id, trigger_session_id: "ses_1", agent: "explore", description })
      .tell("session.status", { status: { type: "busy", step: 1 } }, id)
  }

  ask(id = "per_1", more: Readonly<Record<string, unknown>> = {}): this {
    this.tell("permission.asked", {
      id,
      sessionID: "ses_1",
      rootID: "ses_1",
      path: ["build"],
      permission: "bash",
      patterns: ["rm -rf x"],
      always: ["rm *"],
      metadata: { command: "rm -rf x", reason: "It deletes." },
      ...more
    })
    this.frame()
    return this
  }

  ends(): this {
    return this.tell("session.status", { status: { type: "idle" } }).tell("session.idle", {})
  }

  type(text: string): this {
    this.model.press(this.#decoder.decode(Buffer.from(text)), this.moment)
    this.frame()
    return this
  }

  escape(): this {
    this.model.press([{ type: "key", name: "escape" }], this.moment)
    return this
  }

  wait(milliseconds: number): this {
    this.now += milliseconds
    this.frame()
    return this
  }

  get moment() {
    return { now: this.now, steady: this.now }
  }

  /** Draws; gives what was drawn. */
  frame() {
    const frame = frameOf(this.model, this.terminal, this.moment)
    if (frame.type === "full") this.#screen.drawFull(frame.lines)
    else this.#screen.draw(frame.above, frame.below, frame.cursor)
    return frame
  }

  /** What was drawn last of that which changes. */
  get below(): string {
    const frame = this.frame()
    return frame.type === "main" ? frame.below.join("\n") : frame.lines.join("\n")
  }

  /** The rows on the glass. */
  async glass(): Promise<ReadonlyArray<string>> {
    this.frame()
    await this.terminal.settled()
    return this.terminal.glass
  }

  /** Everything that was printed, the scrollback first. */
  async lines(): Promise<ReadonlyArray<string>> {
    this.frame()
    await this.terminal.settled()
    return this.terminal.lines
  }
}
