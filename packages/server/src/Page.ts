/** Decides what a server needs to know about the page that it serves. */

/** A file of the page, as it is sent. */
export interface PageFile {
  readonly type: string
  readonly body: Uint8Array
  /** The same body compressed, by the name of the encoding. */
  readonly encoded: Readonly<Partial<Record<"br" | "gzip", Uint8Array>>>
  /** Whether its path changes with its content, so that browsers may cache it permanently. */
  readonly immutable: boolean
}

/** The files of the page by their path. The file of `/` also answers the URLs of sessions. */
export type Page = ReadonlyMap<string, PageFile>
