{% block header %}
#version 310 es
precision highp float;
precision highp int;
{% endblock %}
#define floatS vec4
#define intS ivec4
#define global_id(axis) int(gl_GlobalInvocationID[axis])
#define wait_for_group() memoryBarrierShared(), barrier()
#define unroll
#define to_int(v) int(v)
#define to_float(v) float(v)
#define splatS(v) vec4(v)
#define packS vec4
#define element_of(array, start, offset) array[(start) + (offset)]
#define lane_of(array, index, lane) array[index][lane]
#define set_lane(array, index, lane, value) array[index][lane] = (value)
#define load_lanes(array, offset) vec4(array[offset], array[(offset) + 1], array[(offset) + 2], array[(offset) + 3])
#define store_lanes(array, offset, value) array[offset] = (value).x, array[(offset) + 1] = (value).y, array[(offset) + 2] = (value).z, array[(offset) + 3] = (value).w
#define nth_lane(v, lane) (v)[lane]
#define lane_numbers ivec4(0, 1, 2, 3)
#define keep_lanes(v, count) mix(vec4(0.0), v, lessThan(lane_numbers, ivec4(count)))
#define fill_lanes(v, count, rest) mix(vec4(rest), v, lessThan(lane_numbers, ivec4(count)))
#define sum_lanes(v) dot(v, vec4(1.0))
#define max_lanes(v) max(max((v).x, (v).y), max((v).z, (v).w))
#define INFINITY uintBitsToFloat(0x7f800000u)
#define NAN uintBitsToFloat(0x7fc00000u)
#define round_half_up(v) floor((v) + 0.5f)
#define round_even(v) roundEven(v)
#define error_function(v) (sign(v) * (1.0 - exp2(-16.0 * log2(1.0 + abs(v) * (0.0705230784 + abs(v) * (0.0422820123 + abs(v) * (0.0092705272 + abs(v) * (0.0001520143 + abs(v) * (0.0002765672 + abs(v) * 0.0000430638)))))))))
#define or_nan(result, v) mix(result, v, isnan(v))
#define at_least(v, low) or_nan(max(v, low), v)
#define at_leastS(v, low) at_least(v, low)
#define within(v, low, high) or_nan(clamp(v, low, high), v)
#define withinS(v, low, high) within(v, low, high)
#define larger(a, b) or_nan(max(b, a), b)
#define smaller(a, b) or_nan(min(b, a), b)
#define upper_bits(v) uintBitsToFloat(floatBitsToUint(v) & 0xfffff000u)
float power(float a, float b) { return b == 0.0 || a == 1.0 ? 1.0 : isnan(a) || a < 0.0 && b != floor(b) ? NAN : a == 0.0 ? (b < 0.0 ? INFINITY : 0.0) : a < 0.0 && mod(b, 2.0) == 1.0 ? -pow(-a, b) : pow(abs(a), b); }
int whole_power(int a, int b) { int result = 1; for (; b > 0; b >>= 1) { if ((b & 1) != 0) result *= a; a *= a; } return result; }
float rest_of(float a, float b, float q) { float p = upper_bits(q), r = upper_bits(b); return a - p * r - p * (b - r) - (q - p) * b; }
float floor_div(float a, float b) { float q = floor(a / b); return rest_of(a, b, q) * b < 0.0 ? q - 1.0 : q; }
float floor_mod(float a, float b) { return isinf(b) ? (a * b < 0.0 ? b : a) : rest_of(a, b, floor_div(a, b)); }
{% for word in ("power", "floor_div", "floor_mod") %}
vec4 {{ word }}(vec4 a, vec4 b) { return vec4({{ word }}(a.x, b.x), {{ word }}(a.y, b.y), {{ word }}(a.z, b.z), {{ word }}(a.w, b.w)); }
{% endfor %}
#define angle_of(y, x) atan(y, x)
#define quotient_of(a, b) ((b) == 0 ? 0 : (b) == -1 ? -(a) : (a) / (b))
#define remainder_of(a, b) ((a) - (b) * quotient_of(a, b))
#define bits_to_float(v) intBitsToFloat(v)
#define bits_to_int(v) floatBitsToInt(v)
#define stored_half uvec2
#define load_half(array, index) vec4(unpackHalf2x16(array[index].x), unpackHalf2x16(array[index].y))
#define half_lane(array, index, lane) unpackHalf2x16(array[index][(lane) / 2])[(lane) % 2]
#define store_half(array, index, value) array[index] = uvec2(packHalf2x16((value).xy), packHalf2x16((value).zw))
