// @ts-check
/** Where a server that is measured writes down its heap, in the directory of its data. */
export const heapFile = "heap.json"
