/** Decides what the line at the bottom says: mode, model, server, context, tokens and money, agents, branch. */
import type { AgentTree } from "@skein/view/AgentTree"
import { formatCost, formatCount } from "@skein/view/Numbers"
import { escapeLine } from "../../Escape.ts"
import type { Style } from "../../Style.ts"
import { fit } from "../../Width.ts"
import { chosenAgent, type Facts } from "./Facts.ts"

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
export const statusLine = (
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
