/** Tells a session in lines, and reads its answers from lines: for screen readers, and for terminals that only print. */
import { escapeLine } from "../../Escape.ts"
import type { Key } from "../../Key.ts"
import type { Moment } from "../../LiveView.ts"
import { dialogLines } from "../ask/dialogLines.ts"
import type { DialogState } from "../ask/dialogQueue.ts"
import type { Picker } from "../list/Picker.ts"
import type { SessionModel } from "../model/SessionModel.ts"
import { isPast, treeLines } from "../tree/treeLines.ts"

/** Lines are not wrapped: a screen reader reads whole lines. */
export const wide = 1_000

/** The most things to choose from that are listed. */
const mostItems = 50

const enter: Key = { type: "key", name: "enter" }

const isNumber = (line: string): boolean => /^\d{1,3}$/.test(line.trim())

/** What one person hears and says. */
export class PlainTalk {
  readonly #model: SessionModel
  /** The question as it was printed last. */
  #told = ""
  /** Whether it was said that it takes answers. */
  #isInvited = false
  #picker: Picker | undefined
  #isReady: boolean | undefined
  /** The agents that were printed, and whether their end was. */
  readonly #agents = new Map<string, boolean>()

  constructor(model: SessionModel) {
    this.#model = model
  }

  /** What is not printed yet. */
  news(moment: Moment): ReadonlyArray<string> {
    const { live } = this.#model
    const above = live?.view({ columns: wide, rows: wide }, moment).above ?? []
    return [
      ...this.#model.takeLines(),
      ...above,
      ...this.#agentsNews(),
      ...this.#views(moment),
      ...this.#choices(),
      ...this.#question(moment),
      ...this.#rest()
    ]
  }

  /** Takes a line that was typed. */
  take(line: string, { steady }: Moment): void {
    const model = this.#model
    const { choosing } = model.views
    const dialogs = model.live?.dialogs
    if (choosing !== undefined) {
      const { value } = choosing.items[Number(line.trim()) - 1] ?? {}
      if (line.trim() === "") model.views.pick(undefined)
      else if (isNumber(line) && value !== undefined) model.views.pick(value)
      else model.hint = "Write one of the numbers, or an empty line for none."
    } else if (dialogs !== undefined && !dialogs.isEmpty && (dialogs.isWriting || isNumber(line))) {
      const isTaken = dialogs.press([{ type: dialogs.isWriting ? "paste" : "text", text: line.trim() }], steady)
      if (isTaken) dialogs.press([enter], steady)
      else model.hint = "That answered nothing: the question had just appeared, or has no such answer."
    } else if (line.trim() !== "") {
      if (model.isBusy) model.hint = "The agent reads it at its next step."
      model.input.keep(line)
      model.submit(line)
    }
  }

  #agentsNews(): ReadonlyArray<string> {
    const { live } = this.#model
    return live === undefined ? [] : live.tree.all.filter((node) => node !== live.tree.root).flatMap((node) => {
      const { agent, id, state, title } = node
      const said = `${escapeLine(agent)}: ${escapeLine(title)}`
      const wasEnded = this.#agents.get(id)
      const isEnded = state.type === "settled"
      this.#agents.set(id, isEnded)
      if (isEnded) {
        // The end of a task in the background is a line of the session already.
        const isSaid = node.background && live.tree.root.children.includes(node)
        return wasEnded === true || isSaid || (wasEnded === undefined && isPast(node, live.tree))
          ? []
          : [`> ended (${state.outcome.status}) ${said}`]
      }
      return wasEnded === false ? [] : [`> began ${said}`]
    })
  }

  /** Full-screen views are printed once, and closed. */
  #views({ now }: Moment): ReadonlyArray<string> {
    const { live } = this.#model
    const { pager, tree } = this.#model.views
    const lines = pager !== undefined
      ? [`${pager.title}:`, ...pager.lines]
      : tree !== undefined && live !== undefined
      ? treeLines(live.tree, { columns: wide, rows: wide, now }).map(({ text }) => text)
      : []
    this.#model.views.close()
    return lines
  }

  #choices(): ReadonlyArray<string> {
    const { choosing } = this.#model.views
    const isTold = choosing === this.#picker
    this.#picker = choosing
    if (choosing === undefined || isTold) return []
    const items = choosing.items.slice(0, mostItems)
    return [
      escapeLine(choosing.title),
      ...items.map(({ detail = "", label }, at) =>
        `  ${at + 1} ${escapeLine(label)}${detail === "" ? "" : `, ${escapeLine(detail)}`}`
      ),
      ...(choosing.items.length > items.length ? [`  and ${choosing.items.length - items.length} more`] : []),
      "Write a number and Enter, or an empty line for none."
    ]
  }

  /** The question that waits, and once it takes answers, that it does. */
  #question({ steady }: Moment): ReadonlyArray<string> {
    const { live, style } = this.#model
    const state = live?.dialogs.show(steady)
    if (live === undefined || state === undefined) {
      this.#told = ""
      return []
    }
    const [told, invited] = [keyOf(state), state.ignoresKeysFor === 0]
    const isNew = told !== this.#told
    const invites = invited && (isNew || !this.#isInvited)
    this.#told = told
    this.#isInvited = invited
    const task = live.tree.taskOf(state.dialog.request.sessionID)
    return [
      ...(isNew ? dialogLines(state, { columns: wide, rows: wide, style, task }).lines.slice(0, -1) : []),
      ...(!invites
        ? []
        : state.words === undefined
        ? ["Write the number of your answer and Enter."]
        : ["Write it and Enter."])
    ]
  }

  /** What was not sent, what is worth knowing, and whether it is the person's turn. */
  #rest(): ReadonlyArray<string> {
    const model = this.#model
    const { hint } = model
    const back = model.input.isEmpty ? [] : [`Not sent: ${escapeLine(model.input.whole)}`]
    model.input.clear()
    model.hint = ""
    const wasReady = this.#isReady
    this.#isReady = !model.isBusy
    return [
      ...(hint === "" ? [] : [escapeLine(hint)]),
      ...back,
      ...(this.#isReady && wasReady !== true ? ["Ready. Write a prompt, or /help."] : [])
    ]
  }
}

/** Told again where it changes: another question, other words to write, other marks. */
const keyOf = ({ choices, dialog, words }: DialogState): string =>
  JSON.stringify([dialog.request.id, words !== undefined, choices.map(({ label }) => label)])
