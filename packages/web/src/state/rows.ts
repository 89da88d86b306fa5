/** Decides the contents of a tree's rows: plain data, so that an unchanged row is not drawn again. */
import { activityOf, type Phase, phaseOf, timesOf } from "@skein/view/Activity"
import type { AgentNode } from "@skein/view/AgentNode"
import { type AgentTree, tokensOf } from "@skein/view/AgentTree"
import { formatCost, formatCount, formatDuration } from "@skein/view/Numbers"
import { visibleLine } from "@skein/view/Visible"
import { nameOf } from "./wishes.ts"

/** An agent at its place in the tree. */
export interface Place {
  readonly node: AgentNode
  readonly level: number
  readonly position: number
  readonly siblings: number
  readonly hasChildren: boolean
}

/** The contents of a row. */
export interface RowData {
  readonly id: string
  readonly phase: Phase
  readonly name: string
  readonly agent: string
  readonly state: string
  readonly model: string
  readonly lastTool: string
  readonly tokens: string
  readonly cost: string
  readonly elapsed: string
  readonly background: boolean
}

const alive = (node: AgentNode): ReadonlyArray<AgentNode> => node.children.filter(({ isDeleted }) => !isDeleted)

/** The agents that have a row, from top to bottom. Those below a collapsed one have none. */
export const placesOf = (tree: AgentTree, collapsed: ReadonlySet<string>): ReadonlyArray<Place> => {
  const places: Array<Place> = []
  const visit = (node: AgentNode, level: number, position: number, siblings: number): void => {
    const children = alive(node)
    places.push({ node, level, position, siblings, hasChildren: children.length > 0 })
    if (!collapsed.has(node.id)) {
      children.forEach((child, at) => visit(child, level + 1, at + 1, children.length))
    }
  }
  visit(tree.root, 1, 1, 1)
  return places
}

/** An agent's own figure and that of its subtree, or one figure if they are equal. */
const pair = (own: string, all: string): string => own === all || own === "" ? all : `${own} / ${all}`

const costText = (cost: string): string => cost === "unknown" || cost === "0" ? "" : formatCost(cost)

const phaseWords: Record<Phase, string> = {
  asking: "needs you",
  working: "working",
  retrying: "retrying",
  waiting: "waiting",
  interrupted: "interrupted",
  failed: "failed",
  done: "done"
}

/** The state of an agent, in words. */
const stateOf = (node: AgentNode, place: number | undefined, now: number): string => {
  const phase = phaseOf(node)
  const activity = activityOf(node, { now, place })
  return activity === "" ? phaseWords[phase] : visibleLine(activity.slice(0, 300))
}

/** The row of an agent. */
export const rowOf = (node: AgentNode, place: number | undefined, now: number): RowData => {
  const { worked } = timesOf(node, now)
  const { lastCall, model, own, usage } = node
  return {
    id: node.id,
    phase: phaseOf(node),
    name: visibleLine(nameOf(node).slice(0, 300)),
    agent: visibleLine(node.agent),
    state: stateOf(node, place, now),
    model: model === undefined ? "" : visibleLine(model.modelID),
    lastTool: lastCall === undefined ? "" : visibleLine(`${lastCall.tool} ${lastCall.title}`.slice(0, 200)),
    tokens: tokensOf(usage) === 0 ? "" : pair(formatCount(tokensOf(own)), formatCount(tokensOf(usage))),
    cost: pair(costText(own.cost), costText(usage.cost)),
    elapsed: formatDuration(worked >= 10_000 ? worked : Math.round(worked / 100) * 100),
    background: node.background
  }
}
