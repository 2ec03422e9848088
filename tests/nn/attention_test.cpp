// Attention and its layers. The tables of numbers are LibTorch 1.13's, computed in float64 by
// programs that set parameters and inputs to the same cosines and sines as here.
#include <gtest/gtest.h>

#include <cmath>

#include "tandem/autograd/autograd.h"
#include "tandem/autograd/gradcheck.h"
#include "tandem/base/memory.h"
#include "tandem/base/parallel.h"
#include "tandem/compile/compile.h"
#include "tandem/nn/nn.h"
#include "tandem/ops/ops.h"
#include "tests/helpers.h"

namespace {

using namespace tandem;
namespace F = tandem::nn::functional;
using test::error_of;
using test::expect_values;
using test::waves;

const double kNan = std::nan("");

TEST(ScaledDotProductAttention, HasLibTorchsValues) {
  const Tensor q = waves({2, 3, 4}, 0.3), k = waves({2, 5, 4}, 0.5), v = waves({2, 5, 2}, 0.9);
  expect_values(scaled_dot_product_attention(q, k, v),
                {0.0507119608, 0.418445181, 0.24532931, 0.575072094, 0.324621506, 0.438238173,
                 0.409287916, -0.159013132, 0.314550603, -0.245647446, -0.207973365, -0.31922721});
  expect_values(scaled_dot_product_attention(q, k, v, {}, 0, true),
                {0, 0.78332691, 0.381538668, 0.643872286, 0.388739083, 0.280761288, 0.412118485,
                 -0.457535894, 0.134625067, -0.5181812, -0.34304945, -0.188693928});
}

// A query that may look at nothing gives NaN, as softmax of such a row does; others are not
// touched by it.
TEST(ScaledDotProductAttention, RowsWithoutKeysAreNaN) {
  const Tensor q = waves({2, 3, 4}, 0.3), k = waves({2, 5, 4}, 0.5), v = waves({2, 5, 2}, 0.9);
  Tensor mask = ones({3, 5}, kBool);
  mask[0][1] = false;
  mask[1][0] = false;
  mask[1][4] = false;
  mask[2].fill_(false);
  const std::vector<double> out = {-0.114570699, 0.41684547,  0.0483267073, 0.157808004,
                                   kNan,         kNan,        0.518067922,  -0.111832877,
                                   0.481695685,  0.174490094, kNan,         kNan};
  expect_values(scaled_dot_product_attention(q, k, v, mask), out);
  const auto [y, weights] = _scaled_dot_product_attention(q, k, v, mask, 0, true);
  expect_values(y, out);
  expect_values(weights, {0.36352246,  0,           0.0904913851, 0.32421322,  0.221772935,
                          0,           0.460930531, 0.0485227351, 0.490546734, 0,
                          kNan,        kNan,        kNan,         kNan,        kNan,
                          0.437403259, 0,           0.0479098222, 0.402859779, 0.111827139,
                          0,           0.215849267, 0.0684429456, 0.715707788, 0,
                          kNan,        kNan,        kNan,         kNan,        kNan});
  // The gradient by such a query is NaN, that by one that saw something is not.
  const Tensor x = q.clone().requires_grad_();
  const Tensor g = autograd::grad({scaled_dot_product_attention(x, k, v, mask).sum()}, {x}).at(0);
  EXPECT_FALSE(g.narrow(1, 0, 2).isnan().any().item<bool>());
  EXPECT_TRUE(g.select(1, 2).isnan().all().item<bool>());
}

// A key tile that is masked as a whole leaves the sums as they were.
TEST(ScaledDotProductAttention, WholeTilesMayBeMasked) {
  manual_seed(1);
  const Tensor q = randn({2, 70, 8}, kDouble), k = randn({2, 900, 8}, kDouble),
               v = randn({2, 900, 8}, kDouble);
  for (const auto& [from, to] : {std::pair<int64_t, int64_t>{0, 300}, {300, 600}, {600, 900}}) {
    Tensor mask = ones({900}, kBool);
    mask.narrow(0, from, to - from).fill_(false);
    std::vector<Tensor> keys, values;
    if (from > 0) keys.push_back(k.narrow(1, 0, from)), values.push_back(v.narrow(1, 0, from));
    if (to < 900)
      keys.push_back(k.narrow(1, to, 900 - to)), values.push_back(v.narrow(1, to, 900 - to));
    const Tensor wanted = scaled_dot_product_attention(q, cat(keys, 1), cat(values, 1));
    EXPECT_TRUE(allclose(scaled_dot_product_attention(q, k, v, mask), wanted, 1e-12, 1e-12));
  }
}

TEST(ScaledDotProductAttention, GreatScoresDoNotOverflow) {
  Tensor q = full({1, 2}, 100.0, kFloat), k = zeros({600, 2}),
         v = arange(600).to(kFloat).view({600, 1});
  k[599].fill_(100.0);  // the greatest score comes in the last tile
  const Tensor y = scaled_dot_product_attention(q, k, v);
  EXPECT_EQ(y.item<float>(), 599);
}

TEST(ScaledDotProductAttention, NeverHoldsTheScores) {
  const Tensor q = randn({1, 2000, 16}).requires_grad_();
  const Tensor k = randn({1, 2000, 16}).requires_grad_(), v = randn({1, 2000, 16});
  const int64_t before = memory::stats().current;
  memory::reset_peak();
  scaled_dot_product_attention(q, k, v, {}, 0.1).sum().backward();
  // The scores would be 16 MB; what is needed is of the size of q.
  EXPECT_LT(memory::stats().peak - before, 2000 * 16 * 4 * 12);
}

TEST(ScaledDotProductAttention, DropsTheSameWeightsWithAndWithoutShowingThem) {
  manual_seed(1);
  const Tensor q = randn({2, 3, 70, 8}, kDouble).requires_grad_();
  const Tensor k = randn({2, 3, 301, 8}, kDouble), v = randn({2, 3, 301, 4}, kDouble);
  manual_seed(5);
  const Tensor tiled = scaled_dot_product_attention(q, k, v, {}, 0.3);
  const Tensor state = get_rng_state();
  manual_seed(5);
  const auto [whole, weights] = _scaled_dot_product_attention(q, k, v, {}, 0.3, true);
  EXPECT_TRUE(get_rng_state().equal(state));
  EXPECT_TRUE(allclose(tiled, whole, 1e-12, 1e-12));
  EXPECT_TRUE(allclose(autograd::grad({tiled.sin().sum()}, {q}).at(0),
                       autograd::grad({whole.sin().sum()}, {q}).at(0), 1e-12, 1e-12));
  const double kept = (weights != 0).to(kDouble).mean().item<double>();
  EXPECT_NEAR(kept, 0.7, 0.01);
  EXPECT_NEAR(weights.sum(-1).mean().item<double>(), 1.0, 0.02);
}

TEST(ScaledDotProductAttention, CompiledDropsWhatEagerDrops) {
  const Tensor q = randn({2, 70, 8}), k = randn({2, 90, 8}), v = randn({2, 90, 8});
  const auto f = [&](const Tensor& x) {
    const Tensor leaf = x.detach().requires_grad_();
    const Tensor y = scaled_dot_product_attention(leaf, k, v, {}, 0.5);
    return y.detach() + autograd::grad({y.sin().sum()}, {leaf}).at(0);
  };
  const auto compiled = compile(f);
  manual_seed(9);
  const Tensor a = f(q), b = f(q);
  EXPECT_FALSE(a.equal(b));
  manual_seed(9);
  EXPECT_TRUE(compiled(q).equal(a));
  EXPECT_TRUE(compiled(q).equal(b));
}

// Few heads are shared out otherwise than many; the sums are the same.
TEST(ScaledDotProductAttention, BitsDoNotDependOnThreads) {
  manual_seed(3);
  const int before = get_num_threads();
  for (const int64_t heads : {1, 3, 16}) {
    const Tensor q = randn({heads, 150, 24}).requires_grad_();
    const Tensor k = randn({heads, 530, 24}).requires_grad_();
    const Tensor v = randn({heads, 530, 16}).requires_grad_();
    const Tensor mask = randn({150, 530}).requires_grad_();
    std::vector<Tensor> wanted;
    for (const int threads : {1, 2, 5}) {
      set_num_threads(threads);
      manual_seed(4);
      const Tensor y = scaled_dot_product_attention(q, k, v, mask, 0.2);
      std::vector<Tensor> got = autograd::grad({y.sin().sum()}, {q, k, v, mask});
      got.push_back(y);
      if (wanted.empty()) wanted = got;
      for (size_t i = 0; i < got.size(); ++i)
        EXPECT_TRUE(got[i].equal(wanted[i])) << i << " with " << threads << " threads";
    }
  }
  set_num_threads(before);
}

TEST(PackedAttention, EqualsHeadsTakenApart) {
  manual_seed(2);
  const int64_t length = 70, batch = 3, heads = 4, width = 32;
  const Tensor x = randn({length, batch, 3 * width}).requires_grad_();
  const Tensor mask = rand({batch, 1, 1, length}) < 0.8;
  const auto apart = [&](int64_t i) {
    return x.narrow(2, i * width, width)
        .reshape({length, batch, heads, width / heads})
        .permute({1, 2, 0, 3});
  };
  manual_seed(8);
  const Tensor packed = packed_attention(x, heads, mask, 0.25);
  manual_seed(8);
  const Tensor y = scaled_dot_product_attention(apart(0), apart(1), apart(2), mask, 0.25)
                       .permute({2, 0, 1, 3})
                       .reshape({length, batch, width});
  EXPECT_TRUE(packed.equal(y));
  EXPECT_TRUE(autograd::grad({packed.sin().sum()}, {x})
                  .at(0)
                  .equal(autograd::grad({y.sin().sum()}, {x}).at(0)));
}

// -- multi_head_attention_forward and MultiheadAttention --------------------------------------

void set_attention(nn::Module& module, double scale) {
  NoGradGuard no_grad;
  module.to(kDouble);
  for (Tensor& p : module.parameters())
    p.copy_(((arange(p.numel(), kDouble) * 0.7).cos() * scale).view(p.sizes()));
}

struct Case {
  nn::MultiheadAttentionOptions options;
  bool self, masks;
  std::vector<double> y, weights, by_query, by_bias;
};

void check_case(const Case& c) {
  nn::MultiheadAttention layer(c.options);
  set_attention(*layer, 0.3);
  const Tensor q = waves({3, 2, 4}, 0.3).requires_grad_();
  const Tensor k = c.self ? q : waves({5, 2, c.options.kdim()}, 0.5);
  const Tensor v = c.self ? q : waves({5, 2, c.options.vdim()}, 0.8);
  const int64_t keys = k.size(0);
  Tensor padding, mask;
  if (c.masks) {
    padding = zeros({2, keys}, kBool);
    padding[0][keys - 1] = true;
    padding[1][0] = true;
    mask = waves({3, keys}, 1.1);
    mask[0][1] = -INFINITY;
  }
  const Tensor direction = waves({3, 2, 4}, 0.7);
  for (const bool show : {true, false}) {
    SCOPED_TRACE(show ? "with weights" : "without");
    const auto [y, weights] = layer(q, k, v, padding, show, mask, false);
    expect_values(y, c.y);
    EXPECT_EQ(weights.defined(), show);
    if (show) {
      expect_values(weights, c.weights);
      const auto mean = std::get<1>(layer(q, k, v, padding, true, mask));
      EXPECT_TRUE(allclose(mean, weights.mean(1)));
    }
    const auto g = autograd::grad({(y * direction).sum()}, {q, layer->in_proj_bias});
    expect_values(g[0], c.by_query);
    expect_values(g[1], c.by_bias);
  }
}

TEST(MultiheadAttention, SelfAttentionHasLibTorchsValues) {
  check_case({nn::MultiheadAttentionOptions(4, 2),
              true,
              false,
              {0.452084086, 0.0408928861, 0.254236512, -0.345900602, 0.428702789, 0.0507854886,
               0.258975748, -0.364724031, 0.456607071, 0.034797173,  0.261200562, -0.352928254,
               0.447355111, 0.0457637443, 0.249786625, -0.342385893, 0.453596,    0.046245,
               0.242638836, -0.329397536, 0.429288851, 0.0585375538, 0.243781348, -0.34384309},
              {0.350916235, 0.343102732, 0.305981032, 0.408964332, 0.35246586,  0.238569808,
               0.234650095, 0.306133636, 0.459216269, 0.395748304, 0.300196792, 0.304054904,
               0.393523185, 0.30429511,  0.302181705, 0.24569255,  0.37151338,  0.38279407,
               0.499681575, 0.165487588, 0.334830837, 0.272416245, 0.420539483, 0.307044273,
               0.319608006, 0.355104537, 0.325287457, 0.413589848, 0.175332227, 0.411077925,
               0.274724588, 0.447498215, 0.277777197, 0.348007221, 0.299333626, 0.352659153},
              {0.0193173983,  0.0104694654,  -0.00330242069,  -0.0155211267,  -0.0179860199,
               -0.0105172771, 0.00189790542, 0.0134204734,    0.0193782574,   0.0101767287,
               -0.0038110746, -0.0160064699, -0.0222572214,   -0.0149553663,  -0.000619768677,
               0.0140073158,  0.0185316781,  0.0102462877,    -0.00285809197, -0.0146182663,
               -0.0268797128, -0.0177008111, -0.000196941363, 0.017399553},
              {0.0219561806, -0.021519805, -0.0219660799, 0.0176295082, 0, 0, 0, 0, 0.0580183901,
               0.0336070939, -0.00661014365, -0.0437185274}});
}

TEST(MultiheadAttention, MasksHaveLibTorchsValues) {
  check_case(
      {nn::MultiheadAttentionOptions(4, 2),
       true,
       true,
       {0.4491004,   0.0359563518, 0.266522825, -0.364116943, 0.477038756, 0.0182692362,
        0.271914859, -0.356590818, 0.42768687,  0.0536244203, 0.254641857, -0.359395986,
        0.483745893, 0.0221845443, 0.257829541, -0.333963124, 0.39194292,  0.0847680496,
        0.23169736,  -0.347301979, 0.474588933, 0.0306900303, 0.250958383, -0.329520292},
       {1, 0, 0, 0.719610535, 0.280389465, 0,           0.280384907, 0.719615093, 0,
        1, 0, 0, 0.740966569, 0.259033431, 0,           0.25159365,  0.74840635,  0,
        0, 0, 1, 0,           0.51711448,  0.48288552,  0,           0.62033114,  0.37966886,
        0, 0, 1, 0,           0.557443116, 0.442556884, 0,           0.559543056, 0.440456944},
       {0.0358023607,
        0.0192874423,
        -0.00629866155,
        -0.0289224065,
        0,
        0,
        0,
        0,
        0.0323880693,
        0.019182245,
        -0.00304528886,
        -0.0238405758,
        -0.0330810081,
        -0.0210776446,
        0.000838864468,
        0.0223608425,
        -0.00122507826,
        -0.00164577713,
        -0.0012924413,
        -0.000331250127,
        -0.0446714795,
        -0.027832941,
        0.00209586458,
        0.0310389523},
       {0.0174998097, -0.0172032452, -0.017071898, 0.0142478616, 0, 0, 0, 0, 0.0580183901,
        0.0336070939, -0.00661014365, -0.0437185274}});
}

TEST(MultiheadAttention, OtherWidthsHaveLibTorchsValues) {
  check_case({nn::MultiheadAttentionOptions(4, 2).kdim(3).vdim(3),
              false,
              true,
              {0.465746865, 0.0333710228, 0.254748269, -0.339343115, 0.434244948, 0.0694878986,
               0.218189931, -0.306567825, 0.471065849, 0.0297208494, 0.256307835, -0.338631857,
               0.435500576, 0.0513022181, 0.251204213, -0.350595732, 0.458535098, 0.0359875506,
               0.257029334, -0.346258184, 0.455626372, 0.0409750851, 0.250539327, -0.339015659},
              {0.245167725,
               0,
               0.540771057,
               0.214061218,
               0,
               0.0849978413,
               0.201354617,
               0.425950157,
               0.287697384,
               0,
               0.0524939955,
               0.139511204,
               0.29088518,
               0.517109621,
               0,
               0.240309125,
               0,
               0.567446082,
               0.192244794,
               0,
               0.0793025424,
               0.208396673,
               0.448192314,
               0.264108471,
               0,
               0.0616233985,
               0.120176994,
               0.287290016,
               0.530909591,
               0,
               0,
               0,
               0.758133217,
               0.11296075,
               0.128906033,
               0,
               0.258938102,
               0.319267414,
               0.34738188,
               0.0744126047,
               0,
               0.104956975,
               0.257537907,
               0.445986906,
               0.191518212,
               0,
               0,
               0.532828012,
               0.370484434,
               0.0966875532,
               0,
               0.176474488,
               0.476874517,
               0.237634766,
               0.109016229,
               0,
               0.10828679,
               0.249925491,
               0.452712819,
               0.189074901},
              {0.00120808488,  0.00130496926,   0.000788106215,  -9.94155013e-05, -0.00404265509,
               -0.00462655372, -0.00303451184,  -1.52916298e-05, -2.14606301e-05, 8.84760934e-05,
               0.000156801128, 0.000151380141,  -0.00537620324,  -0.00542205891,  -0.00291783555,
               0.000958691457, -0.000482414464, -0.000528899338, -0.00032663459,  2.92515103e-05,
               -0.00108717862, -0.000901349331, -0.000291601372, 0.000455291268},
              {-0.01243015, 0.0183709862, 0.0037402844, 0.0112343887, 0, 0, 0, 0, 0.0580183901,
               0.0336070939, -0.00661014365, -0.0437185274}});
}

TEST(MultiheadAttention, AddedKeysHaveLibTorchsValues) {
  check_case(
      {nn::MultiheadAttentionOptions(4, 2).add_bias_kv(true).add_zero_attn(true),
       false,
       true,
       {0.391800335, 0.0979118257, 0.207071226, -0.314039168, 0.454985423, 0.0695031256,
        0.197420762, -0.267444702, 0.390594678, 0.0935022242, 0.216586533, -0.327560637,
        0.478944763, 0.0408818451, 0.227396642, -0.29531131,  0.381904605, 0.103869561,
        0.205739934, -0.317488157, 0.480347712, 0.040996808,  0.225777051, -0.292374243},
       {0.163408536,
        0,
        0.36146188,
        0.133171065,
        0,
        0.177504044,
        0.164454475,
        0.0728312908,
        0.102209545,
        0.345816889,
        0.224073561,
        0,
        0.134922598,
        0.120146116,
        0.0328311374,
        0.136258065,
        0.212357781,
        0.287693893,
        0,
        0.173947423,
        0.1569117,
        0.195143907,
        0,
        0.314078541,
        0.163140135,
        0,
        0.169141201,
        0.158496216,
        0.0723604449,
        0.134637509,
        0.289433224,
        0.255918071,
        0,
        0.127249937,
        0.120400815,
        0.0367098744,
        0.123000328,
        0.295148227,
        0.281730195,
        0,
        0.126187171,
        0.137224205,
        0,
        0,
        0.247045827,
        0.239636934,
        0.0811635933,
        0.225569475,
        0.206584171,
        0,
        0.124284424,
        0.367393819,
        0.17498748,
        0.0639117094,
        0.143104795,
        0.126317773,
        0,
        0.0691163923,
        0.218857548,
        0.301835339,
        0.150064142,
        0.135169221,
        0.124957358,
        0,
        0,
        0.265439023,
        0.164882831,
        0.112235118,
        0.244052608,
        0.213390419,
        0,
        0.11555181,
        0.40959821,
        0.205903231,
        0.0584441097,
        0.101509387,
        0.108993253,
        0,
        0.0833011106,
        0.193369397,
        0.3092662,
        0.172813226,
        0.122639095,
        0.118610971},
       {-0.00182047295,  -0.00183064204,  -0.000979831566, 0.000331808998, -0.00127588513,
        -0.00196877617,  -0.00173572101,  -0.000686329138, -0.00132056496, -0.00139535051,
        -0.000813880913, 0.000150369596,  -0.00111137173,  -0.0017219455,  -0.00152266139,
        -0.000607245838, -0.00086386978,  -0.00105299915,  -0.00074688656, -8.95015545e-05,
        -0.000173474937, -0.000412592742, -0.000457661734, -0.000287485261},
       {0.00834866865, 0.0224543088, -0.00786194601, 0.00573809022, -0.00781395259, -0.0127477059,
        0.00381927506, -0.00840129322, 0.0365103661, 0.0152036051, -0.0177864056, -0.0364203082}});
}

TEST(MultiheadAttention, RegistersWhatItHas) {
  const auto names = [](const nn::MultiheadAttention& layer) {
    std::string all;
    for (const auto& p : layer->named_parameters()) all += p.key() + " ";
    return all;
  };
  EXPECT_EQ(names(nn::MultiheadAttention(4, 2)),
            "in_proj_weight in_proj_bias out_proj.weight out_proj.bias ");
  EXPECT_EQ(
      names(nn::MultiheadAttention(nn::MultiheadAttentionOptions(4, 2).kdim(3).add_bias_kv(true))),
      "q_proj_weight k_proj_weight v_proj_weight in_proj_bias bias_k bias_v "
      "out_proj.weight out_proj.bias ");
  EXPECT_EQ(names(nn::MultiheadAttention(nn::MultiheadAttentionOptions(4, 2).bias(false))),
            "in_proj_weight out_proj.weight ");
}

TEST(MultiheadAttention, BoolMasksSayWhatIsNotLookedAt) {
  manual_seed(1);
  nn::MultiheadAttention layer(8, 2);
  const Tensor x = randn({5, 3, 8});
  const Tensor later = ones({5, 5}, kBool).triu(1);
  const Tensor numbers = zeros({5, 5}).masked_fill(later, -INFINITY);
  const Tensor a = std::get<0>(layer(x, x, x, Tensor(), false, later));
  EXPECT_TRUE(allclose(a, std::get<0>(layer(x, x, x, Tensor(), false, numbers))));
  // The same for each head by itself.
  const Tensor by_head = later.unsqueeze(0).expand({6, 5, 5});
  EXPECT_TRUE(allclose(a, std::get<0>(layer(x, x, x, Tensor(), false, by_head))));
}

TEST(MultiheadAttention, DropsOnlyWhileTraining) {
  nn::MultiheadAttention layer(nn::MultiheadAttentionOptions(8, 2).dropout(0.5));
  const Tensor x = randn({5, 3, 8});
  const auto run = [&](bool show) { return std::get<0>(layer(x, x, x, Tensor(), show)); };
  manual_seed(1);
  const Tensor a = run(false);
  EXPECT_FALSE(a.equal(run(false)));
  manual_seed(1);
  EXPECT_TRUE(allclose(run(true), a, 1e-5, 1e-6));
  layer->eval();
  EXPECT_TRUE(run(false).equal(run(false)));
}

TEST(MultiheadAttention, SaysWhatDoesNotFit) {
  nn::MultiheadAttention layer(8, 2);
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  const Tensor x = randn({5, 3, 8}), narrow = randn({5, 3, 6});
  std::string text = error_of([&] { layer(narrow, narrow, narrow); });
  EXPECT_TRUE(has(text, "6") && has(text, "8")) << text;
  text = error_of([&] { layer(x, x, x, Tensor(), false, zeros({4, 4})); });
  EXPECT_TRUE(has(text, "attn_mask") && has(text, "[4, 4]") && has(text, "[5, 5]")) << text;
  text = error_of([&] { layer(x, x, x, zeros({5, 3}, kBool)); });
  EXPECT_TRUE(has(text, "key_padding_mask") && has(text, "[5, 3]")) << text;
  text = error_of([&] { nn::MultiheadAttention(7, 2); });
  EXPECT_TRUE(has(text, "divisible")) << text;
  text = error_of([&] { layer(Tensor(), x, x); });
  EXPECT_NE(text, "no error");
}

TEST(MultiheadAttention, EmptySequencesAndBatches) {
  nn::MultiheadAttention layer(8, 2);
  for (const auto& sizes : {std::vector<int64_t>{0, 3, 8}, {4, 0, 8}}) {
    const Tensor x = zeros(sizes).requires_grad_();
    const Tensor y = std::get<0>(layer(x, x, x, Tensor(), false));
    EXPECT_EQ(y.sizes(), x.sizes());
    y.sum().backward();
    EXPECT_EQ(x.grad().sizes(), x.sizes());
  }
}

}  // namespace
