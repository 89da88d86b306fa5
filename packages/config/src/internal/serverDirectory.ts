/** Decides in which directory an MCP server runs: the same one for a whole project, wherever in it a session works. */
import { basename, dirname } from "node:path"
import type { ConfigEntry } from "./sourced.ts"

/** Directories with config for the directory that they are in. */
const configDirectories = new Set([".claude", ".opencode", ".skein"])

/** The directory that a config file is about. */
export const aboutDirectory = (file: string): string => {
  const directory = dirname(file)
  return configDirectories.has(basename(directory)) ? dirname(directory) : directory
}

/**
 * The directories of all servers in a config, by the names of the servers. A server of a project's file runs where that
 * file is, so that relative paths in its command mean the same from every directory. All others run at `place`, the root
 * of the project.
 */
export const serverDirectories = (
  entries: ReadonlyArray<ConfigEntry>,
  projectFiles: ReadonlyArray<string>,
  place: string
): Readonly<Record<string, string>> =>
  Object.fromEntries(entries.flatMap(({ origin, path: [top, name = "", ...rest] }) => {
    if (top !== "mcp" || rest.length > 0) return []
    const file = projectFiles.find((each) => origin === each || origin.startsWith(`${each}:`))
    return [[name, file === undefined ? place : aboutDirectory(file)]]
  }))
