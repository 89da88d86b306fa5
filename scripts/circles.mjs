// @ts-check
// Finds import cycles, types included: of files, and of rooms, the folders of `src/internal`. Finds imports that go up.
import { dirname } from "node:path/posix"

/**
 * @typedef {{ readonly from: string, readonly to: string, readonly line: number }} Edge an import, by the paths of both files
 * @typedef {{ readonly edge: Edge, readonly way: ReadonlyArray<string> }} Circle an import in it, and the shortest way around
 * @typedef {ReadonlyMap<string, ReadonlySet<string>>} Graph
 */

/**
 * The shortest way from a node back to itself; undefined where there is none.
 * @param {Graph} graph
 * @param {string} start
 * @returns {ReadonlyArray<string> | undefined}
 */
const wayBack = (graph, start) => {
  /** @type {Map<string, ReadonlyArray<string>>} */
  const ways = new Map([[start, [start]]])
  for (const [node, way] of ways) {
    for (const next of graph.get(node) ?? []) {
      if (next === start) return [...way, start]
      if (!ways.has(next)) ways.set(next, [...way, next])
    }
  }
  return undefined
}

/**
 * All that is reached from a node.
 * @param {Graph} graph
 * @param {string} start
 * @returns {ReadonlySet<string>}
 */
const reachedFrom = (graph, start) => {
  const reached = new Set(graph.get(start))
  // A set that grows while it is walked is walked to its end.
  for (const node of reached) for (const next of graph.get(node) ?? []) reached.add(next)
  return reached
}

/**
 * One circle for each group of nodes that all reach each other.
 * @param {ReadonlyArray<Edge>} edges
 * @param {(file: string) => string} nodeOf what a file counts as
 * @returns {ReadonlyArray<Circle>}
 */
const circlesOf = (edges, nodeOf) => {
  /** @type {Map<string, Set<string>>} */
  const graph = new Map()
  for (const { from, to } of edges) {
    const [node, next] = [nodeOf(from), nodeOf(to)]
    if (node !== next) graph.set(node, (graph.get(node) ?? new Set()).add(next))
  }
  /** @type {Array<Circle>} */
  const circles = []
  /** @type {Set<string>} */
  const reported = new Set()
  for (const start of [...graph.keys()].toSorted()) {
    const way = reported.has(start) ? undefined : wayBack(graph, start)
    const edge = edges.find(({ from, to }) => nodeOf(from) === way?.[0] && nodeOf(to) === way[1])
    if (way === undefined || edge === undefined) continue
    circles.push({ edge, way })
    for (const node of reachedFrom(graph, start)) if (reachedFrom(graph, node).has(start)) reported.add(node)
  }
  return circles
}

/**
 * Files that import each other.
 * @param {ReadonlyArray<Edge>} edges
 */
export const fileCircles = (edges) => circlesOf(edges, (file) => file)

/**
 * Rooms that import each other. A file that lies in `src/internal` itself is a room of its own.
 * @param {ReadonlyArray<Edge>} edges
 */
export const roomCircles = (edges) =>
  circlesOf(
    edges.filter(({ from, to }) => isInternal(from) && isInternal(to)),
    (file) => dirname(file).endsWith("/src/internal") ? file : dirname(file)
  )

/**
 * Imports that go up or stay on the floor of their room, and rooms that have no floor.
 * @param {ReadonlyArray<Edge>} edges
 * @param {Readonly<Record<string, ReadonlyArray<ReadonlyArray<string>>>>} floors the rooms of packages, from the ground up
 * @returns {ReadonlyArray<{ readonly edge: Edge, readonly message: string }>}
 */
export const stairs = (edges, floors) =>
  edges.flatMap((edge) => {
    const [from, to] = [placeOf(edge.from), placeOf(edge.to)]
    const known = floors[from?.owner ?? ""]
    if (from === undefined || to === undefined || known === undefined) return []
    if (from.owner !== to.owner || from.room === to.room) return []
    /** @param {string} room */
    const floorOf = (room) => known.findIndex((rooms) => rooms.includes(room))
    const unknown = [from.room, to.room].find((room) => floorOf(room) === -1)
    if (unknown !== undefined) {
      return [{ edge, message: `The room ${unknown} has no floor. Give it one here, and draw it in ARCHITECTURE.md.` }]
    }
    if (floorOf(from.room) > floorOf(to.room)) return []
    const message =
      `The room ${from.room} imports ${to.room}, which is not below it. Move what both need down, or change the floors here and in ARCHITECTURE.md.`
    return [{ edge, message }]
  })

/**
 * The package and the room of a file; undefined for a file in no room.
 * @param {string} file
 */
const placeOf = (file) => {
  const [, owner, room] = /^packages\/([^/]+)\/src\/internal\/([^/]+)\//.exec(file) ?? []
  return owner === undefined || room === undefined ? undefined : { owner, room }
}

/** @param {string} file */
const isInternal = (file) => file.includes("/src/internal/")
