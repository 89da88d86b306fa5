/**
 * Decides how a session looks, and what the line at the bottom says: a function of the model, the size of the terminal
 * and the time.
 */
import type { AgentTree } from "@skein/view/AgentTree"
import { formatCost, formatCount } from "@skein/view/Numbers"
import { escapeLine } from "../../Escape.ts"
import type { Moment } from "../../LiveView.ts"
import type { Place, Size } from "../../Screen.ts"
import type { Style } from "../../Style.ts"
import { fit } from "../../Width.ts"
import { wrapRuns } from "../text/runs.ts"
import { chosenAgent, type Facts } from "./Facts.ts"
import type { SessionModel } from "./SessionModel.ts"

const modeText = (mode: Facts["mode"], style: Style): string =>
  mode === "ask"
    ? style.green("ask")
    : mode === "plan"
    ? style.blue("plan")
    : mode === "edits"
    ? style.yellow("edits")
    : style.red("auto")

/** The agents below the root that work now: those that a call waits for, and the others. */
export const workingIn = (tree: AgentTree): { readonly running: number; readonly background: number } => {
  const working = tree.all.filter((node) => node !== tree.root && node.state.type !== "settled" && !node.isDeleted)
  const background = working.filter((node) => node.background).length
  return { running: working.length - background, background }
}

/** The line; `used` are the tokens of the last request. */
const statusLine = (
  facts: Facts,
  tree: AgentTree | undefined,
  used: number | undefined,
  columns: number,
  style: Style
): string => {
  const usage = tree?.root.info?.usage.subtree
  const tokens = usage === undefined ? 0 : usage.tokens.input + usage.tokens.output
  const limit = tree?.root.info?.budget?.limit
  const agent = chosenAgent(facts) ?? facts.agent
  const model = facts.choice.model === undefined
    ? facts.model
    : `${facts.choice.model.providerID}/${facts.choice.model.modelID}`
  const { background, running } = tree === undefined ? { running: 0, background: 0 } : workingIn(tree)
  const parts = [
    ...(agent === undefined || facts.mode === "plan" ? [] : [escapeLine(agent)]),
    ...(model === undefined ? [] : [escapeLine(model)]),
    ...(facts.server === undefined
      ? []
      : [facts.isAway === true ? "server away" : `server ${escapeLine(facts.server.replace(/^http:\/\//, ""))}`]),
    ...(tree?.root.state.type === "away" ? [`waits for the host ${escapeLine(tree.root.state.host)}`] : []),
    ...(tree?.root.state.type === "stuck" ? ["cannot be continued"] : []),
    ...(used === undefined || used === 0
      ? []
      : [
        facts.context === undefined
          ? `${formatCount(used)} context`
          : `${Math.round(100 * used / facts.context)}% context`
      ]),
    ...(tokens === 0 ? [] : [
      `${formatCount(tokens)}${limit?.tokens === undefined ? "" : ` of ${formatCount(limit.tokens)}`} tokens`
    ]),
    ...(usage === undefined || usage.cost === "unknown" || usage.cost === "0"
      ? []
      : [`${formatCost(usage.cost)}${limit?.usd === undefined ? "" : ` of ${formatCost(limit.usd)}`}`]),
    ...(running === 0 ? [] : [`${running} running`]),
    ...(background === 0 ? [] : [`${background} background`]),
    ...(facts.branch === undefined ? [] : [escapeLine(facts.branch)])
  ]
  return `  ${modeText(facts.mode, style)}${
    style.dim(fit([...parts.map((part) => ` · ${part}`)].join(""), columns - 8))
  }`
}

/** What is to be seen: lines that stay, and those that are drawn again; or a full-screen view. */
type SessionFrame =
  | {
    readonly type: "main"
    readonly above: ReadonlyArray<string>
    readonly below: ReadonlyArray<string>
    readonly cursor: Place | undefined
  }
  | { readonly type: "full"; readonly lines: ReadonlyArray<string> }

/** How many rows a hint may take: in most terminals all that it needs. */
const mostHints = (rows: number): number => Math.max(3, Math.floor(rows / 3))

/** The rows of the input at most, of those that there are. */
const inputRows = (rows: number): number => Math.max(1, Math.min(10, Math.floor(rows / 3)))

/** The input with its mark, and where the cursor is in it. */
const inputLines = ({ input, style }: SessionModel, { columns, rows }: Size) => {
  input.columns = columns - 3
  const layout = input.layout
  const room = inputRows(rows)
  const first = Math.max(0, Math.min(layout.row - room + 1, layout.rows.length - room))
  const lines = layout.rows.slice(first, first + room).map(({ shown }, at) =>
    `${first + at === 0 ? style.cyan("› ") : "  "}${shown}`
  )
  if (input.isEmpty) {
    lines[0] = `${style.cyan("› ")}${style.dim(fit("Write a prompt, / for commands, @ for files", columns - 3))}`
  }
  return { lines, cursor: { row: layout.row - first, column: layout.column + 2 } }
}

/** Looks at the model; the lines that stay are given once. */
export const frameOf = (model: SessionModel, size: Size, moment: Moment): SessionFrame => {
  const { style } = model
  const columns = Math.max(20, size.columns)
  const rows = Math.max(4, size.rows)
  model.columns = columns
  if (model.views.pager !== undefined) return { type: "full", lines: model.views.pager.draw(columns, rows, style) }
  if (model.views.tree !== undefined) {
    return { type: "full", lines: model.views.tree.draw(columns, rows, moment.now, style) }
  }
  const { menu } = model
  const { choosing } = model.views
  const input = inputLines(model, { columns, rows })
  const status = statusLine(model.facts, model.live?.tree, model.used, columns, style)
  const rule = style.dim("─".repeat(columns - 1))
  const hint = model.hint === ""
    ? []
    : wrapRuns([{ text: escapeLine(model.hint), paint: style.dim }], columns - 1, "  ", "  ").slice(0, mostHints(rows))
  const bottom = choosing === undefined
    ? [rule, ...input.lines, ...hint, status]
    : [rule, ...choosing.lines(columns, Math.min(16, rows - 4), style), status]
  const room = Math.max(1, rows - 1 - bottom.length)
  const list = choosing !== undefined || menu === undefined ? [] : menu.lines(columns, Math.max(1, room - 2), style)
  const waits = room < 8 ? [] : [
    ...model.sending.lines(columns, style, moment.steady),
    ...model.waiting.lines(columns, style, model.isBusy),
    ...model.later.lines(columns, style, model.isBusy)
  ]
  if (model.live !== undefined) model.live.dialogs.isHeld = model.isQuestionHeld
  const live = model.live?.view({ columns, rows: Math.max(2, room - list.length - waits.length + 1) }, moment)
  const before = [...live?.below ?? [], ...waits, ...list].slice(-room)
  const cursor = choosing === undefined
    ? { row: before.length + 1 + input.cursor.row, column: input.cursor.column }
    : undefined
  return {
    type: "main",
    above: [...model.takeLines(), ...live?.above ?? []],
    below: [...before, ...bottom],
    cursor
  }
}
