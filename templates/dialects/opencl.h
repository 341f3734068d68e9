#define floatS float{{ S }}
#define intS int{{ S }}
#define global_id(axis) ((int)get_global_id(axis))
#define wait_for_group() barrier(CLK_LOCAL_MEM_FENCE)
#define unroll __attribute__((opencl_unroll_hint))
#define to_int(v) ((int)(v))
#define to_float(v) ((float)(v))
#define splatS(v) ((floatS)(v))
#define packS(...) ((floatS)(__VA_ARGS__))
#define element_of(array, start, offset) ((array) + (start))[offset]
#define lane_of(array, index, lane) ((__global const float*)((array) + (index)))[lane]
#define set_lane(array, index, lane, value) ((__global float*)((array) + (index)))[lane] = (value)
#define load_lanes(array, offset) vload{{ S }}(0, (array) + (offset))
#define store_lanes(array, offset, value) vstore{{ S }}(value, 0, (array) + (offset))
#define nth_lane(v, lane) (v).s##lane
#define lane_numbers ((intS)({{ range(S) | join(", ") }}))
#define keep_lanes(v, count) select((floatS)(0.0f), v, lane_numbers < (intS)(count))
#define fill_lanes(v, count, rest) select((floatS)(rest), v, lane_numbers < (intS)(count))
#define sum_lanes(v) ({% for k in range(S) %}(v).s{{ "%x" % k }}{{ " + " if not loop.last }}{% endfor %})
#define max_lanes(v) {% for k in range(S - 1) %}max((v).s{{ "%x" % k }}, {% endfor %}(v).s{{ "%x" % (S - 1) }}{{ ")" * (S - 1) }}
#define round_half_up(v) floor((v) + 0.5f)
#define round_even(v) rint(v)
#define error_function(v) erf(v)
#define or_nan(result, v) select(result, v, isnan(v))
#define at_least(v, low) ((v) < (low) ? (low) : (v))
#define at_leastS(v, low) select(v, (floatS)(low), (v) < (floatS)(low))
#define within(v, low, high) smaller(high, at_least(v, low))
#define withinS(v, low, high) smaller((floatS)(high), at_leastS(v, low))
#define larger(a, b) select(b, a, (a) > (b))
#define smaller(a, b) select(b, a, (a) < (b))
#define power(a, b) pow(a, b)
int whole_power(int a, int b) { int result = 1; for (; b > 0; b >>= 1) { if ((b & 1) != 0) result *= a; a *= a; } return result; }
#define floor_div(a, b) select(floor((a) / (b)), floor((a) / (b)) - 1.0f, fma(-floor((a) / (b)), b, a) * (b) < 0.0f)
#define floor_mod(a, b) select(fmod(a, b), fmod(a, b) + (b), fmod(a, b) * (b) < 0.0f)
#define angle_of(y, x) atan2(y, x)
#define quotient_of(a, b) ((b) == 0 ? 0 : (b) == -1 ? -(a) : (a) / (b))
#define remainder_of(a, b) ((a) - (b) * quotient_of(a, b))
#define bits_to_float(v) as_float(v)
#define bits_to_int(v) as_int(v)
#define stored_half half
#define load_half(array, index) vload_half{{ S }}(index, array)
#define half_lane(array, index, lane) vload_half((index) * {{ S }} + (lane), array)
#define store_half(array, index, value) vstore_half{{ S }}_rte(value, index, array)
#define read_texel(image, index) read_imagef(image, index)
float texel_lane(__read_only image1d_buffer_t image, int index, int lane) { float4 v = read_imagef(image, index); return lane == 0 ? v.x : lane == 1 ? v.y : lane == 2 ? v.z : v.w; }
#define from_neighbour(v, apart) intel_sub_group_shuffle_xor(v, apart)
#define sub_group_number ((int)get_sub_group_id())
#define sub_group_lane ((int)get_sub_group_local_id())
