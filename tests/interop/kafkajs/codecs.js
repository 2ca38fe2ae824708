// The codecs that KafkaJS leaves to its users: snappy in xerial framing, lz4 frames, zstd.
const { CompressionCodecs, CompressionTypes } = require('kafkajs')
const lz4 = require('lz4js')
const snappy = require('snappyjs')
const { ZstdCodec } = require('zstd-codec')

// "\x82SNAPPY\0", version 1, compatible with 1; then blocks of a big-endian size and raw snappy.
const XERIAL = Buffer.from('82534e41505059000000000100000001', 'hex')

const zstd = new Promise((resolve) => ZstdCodec.run((module) => resolve(new module.Simple())))

CompressionCodecs[CompressionTypes.Snappy] = () => ({
  async compress(encoder) {
    const block = Buffer.from(snappy.compress(encoder.buffer))
    const size = Buffer.alloc(4)
    size.writeInt32BE(block.length)
    return Buffer.concat([XERIAL, size, block])
  },
})

CompressionCodecs[CompressionTypes.LZ4] = () => ({
  async compress(encoder) {
    const frame = Buffer.from(lz4.compress(encoder.buffer))
    // lz4js does not say that its blocks are independent, though one 4 MiB block is; Java refuses a frame
    // without that flag. Set it, and the header checksum that goes with it.
    frame[4] = 0x60
    frame[6] = 0x73
    return frame
  },
})

CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  async compress(encoder) {
    return Buffer.from((await zstd).compress(encoder.buffer))
  },
})
