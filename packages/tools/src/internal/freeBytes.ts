/** Gives memory back before the collector does. */
import { MessageChannel, type MessagePort } from "node:worker_threads"

/** Smaller ones may share their memory with others. */
const least = 16 * 1024

/** Makes a function that gives back the memory of large buffers which nobody uses any more; others it leaves alone. */
export const makeFreeBytes = (): (bytes: Buffer) => void => {
  let sink: MessagePort | undefined
  return (bytes) => {
    const memory = bytes.buffer
    if (!(memory instanceof ArrayBuffer) || memory.byteLength < least || bytes.length !== memory.byteLength) return
    sink ??= deaf()
    sink.postMessage(undefined, [memory])
  }
}

/**
 * A port that nobody listens at: what is handed to it is gone at once. Node reads a child's output into new memory each
 * time and takes no notice of it below some 64 MB, so that a long output would cost that much, whatever is kept of it.
 */
const deaf = (): MessagePort => {
  const { port1, port2 } = new MessageChannel()
  port2.close()
  return port1
}
