;; How alike a query is to many vectors, in whole numbers, sixteen at a time.
;;
;; A record is a scale (f32), twelve unused bytes so that what follows is aligned, and the vector (i8). Made
;; into bytes by tools/generate.ts.
(module
  (import "room" "memory" (memory 1))

  ;; For each of `count` numbers (u32) at `numbers`, the dot product of its record's vector with the query,
  ;; times the record's scale, goes to `out` (f32). The query is widened to i16 beforehand, once. `width` is
  ;; a multiple of 16, and records lie `width` + 16 bytes apart.
  (func (export "dot")
    (param $numbers i32) (param $count i32) (param $query i32) (param $records i32)
    (param $width i32) (param $out i32)
    (local $end i32) (local $record i32) (local $at i32) (local $asked i32) (local $rowEnd i32)
    (local $sixteen v128) (local $low v128) (local $high v128)
    (local.set $end
      (i32.add (local.get $numbers) (i32.shl (local.get $count) (i32.const 2))))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $numbers) (local.get $end)))
        (local.set $record
          (i32.add
            (local.get $records)
            (i32.mul
              (i32.load (local.get $numbers))
              (i32.add (local.get $width) (i32.const 16)))))
        (local.set $at (i32.add (local.get $record) (i32.const 16)))
        (local.set $rowEnd (i32.add (local.get $at) (local.get $width)))
        (local.set $asked (local.get $query))
        (local.set $low (v128.const i32x4 0 0 0 0))
        (local.set $high (v128.const i32x4 0 0 0 0))
        (loop $more
          (local.set $sixteen (v128.load align=16 (local.get $at)))
          (local.set $low
            (i32x4.add
              (local.get $low)
              (i32x4.dot_i16x8_s
                (i16x8.extend_low_i8x16_s (local.get $sixteen))
                (v128.load align=16 (local.get $asked)))))
          (local.set $high
            (i32x4.add
              (local.get $high)
              (i32x4.dot_i16x8_s
                (i16x8.extend_high_i8x16_s (local.get $sixteen))
                (v128.load offset=16 align=16 (local.get $asked)))))
          (local.set $asked (i32.add (local.get $asked) (i32.const 32)))
          (local.set $at (i32.add (local.get $at) (i32.const 16)))
          (br_if $more (i32.lt_u (local.get $at) (local.get $rowEnd))))
        (local.set $low (i32x4.add (local.get $low) (local.get $high)))
        (f32.store
          (local.get $out)
          (f32.mul
            (f32.load (local.get $record))
            (f32.convert_i32_s
              (i32.add
                (i32.add
                  (i32x4.extract_lane 0 (local.get $low))
                  (i32x4.extract_lane 1 (local.get $low)))
                (i32.add
                  (i32x4.extract_lane 2 (local.get $low))
                  (i32x4.extract_lane 3 (local.get $low)))))))
        (local.set $numbers (i32.add (local.get $numbers) (i32.const 4)))
        (local.set $out (i32.add (local.get $out) (i32.const 4)))
        (br $next)))))
