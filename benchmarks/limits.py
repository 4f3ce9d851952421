"""What BENCHMARK.md says in words: how constants were chosen, and where other methods are better."""

LIMITS = """## Limits, and where other methods are better

- `min_support` and the end of `fast`'s search were chosen by sweeps over sets 30 and 31 themselves. The settings of the
  surface were chosen on sets 30 and 31 *and* 17 rendered scenes, the weights of its error model on the latter; the
  weights at full resolution were fitted to the six real pairs and sets 30 and 31, as they are and some of them halved,
  enlarged, blurred and compressed, and to 73 rendered scenes (seeds 8101 to 8304) of 4 to 80 px of disparity, with
  noise of 0.3 to 3 grey levels, for the best log score with 95 % inside on each set and 88 to 99 % on each frame; then
  they were moved by hand, with the 18 scenes of the tables and what `bdis.combine` makes of them in view, Cones and
  Aloe not. How much noise hides was chosen on the six real pairs, Cones and Aloe with and without noise of 5 grey
  levels, sets 30 and 31 and rendered scenes (seeds 3000 to 3062 among them). The weights of filled pixels were fitted
  to set 30, Motorcycle, Cones and 20 rendered scenes (8500 to 8519), with set 31 in view. The constants of labels,
  detail and refinement were chosen with the six real pairs, sets 30 and 31 and some of the rendered scenes in view, the
  instruments of the table on depth edges too: other pairs are the judge. Which side of a depth edge a pixel takes
  (`sides`) was chosen with all pairs in view; all of them, a mirrored Cones and eight scenes with new seeds gained or
  stayed as they were. The slopes that the refinement follows, and which ramps only one camera sees, were chosen with
  all pairs in view as well, and so was the probability below which pixels are unknown.
- On Middlebury SGBM has a higher coverage than `accurate` (98.5 % against 95.0 %), and hardly more gross
  errors than `balanced` (3.6 against 3.4 %).
- On Scene Flow, whose desk has no texture, `balanced` and `accurate` know less of the picture than SGBM, with a
  quarter of its error.
- With the confidence of `bdis.assess` other methods can be cut to the smallest coverage as well (`bdis bench --methods
  bdis,bdis-accurate,sgbm-3way,elas`). Then SGBM on Middlebury (0.28 px) is ahead of `balanced` (0.29), though not of
  `accurate` (0.25).
- 20 to 22 % of the pixels of the three Middlebury pairs that only the left camera sees still get a disparity (18 to 22
  % with `accurate`), and 8 and 2 % of Cones and Aloe: 15 % on average, of all these pixels together 12 %. Without
  `max_difference` it would be 26 to 36, 12 and 4 %, on average 21 %; it costs 2.0, 1.5, 0.4, 2.1 and 1.0 % of the
  visible pixels of these pairs, 0.7 % of tissue and 0.2 % of the virtual colon. ELAS gives a disparity to 35 to 64, 18
  and 7 %, SGBM to 42 to 85, 26 and 17 %. On rendered instruments (seeds 7800 to 7803) it is 1 to 2 %. What was tried
  before that rule: cut by its own variance until 15 % are left, `balanced` would know 79 to 92 % of the visible pixels
  instead of 91 to 99 %. Left out if a second match of the mirrored pair disagrees by 1 px or knows nothing, in twice
  the time, 20 to 25 % are left, and 87 to 98 % of the visible pixels. Of those on Motorcycle a quarter is right within
  1 px; half of the wrong ones lie in twenty holes, between spokes, slats and tubes, whose background is smooth: both
  cameras see the same grey in them, as they do on a smooth foreground, and no step of the result is near. How much the
  images could tell at most was tried with gradient-boosted trees on 37 cues of every known pixel (differences of grey,
  colour and gradient, correlations, texture, steps and unknown pixels around, a match of the mirrored pair), trained on
  four of the five pairs and used on the fifth: to leave 20 % they give up 1.9, 1.0 and 0.2 % of the visible pixels of
  Motorcycle, Tsukuba and Venus, to leave 15 % 4.9, 1.9 and 1.0 %.
  With the cost of the best label, by how much the second best one is dearer, and how much is unknown around, a
  regression trained likewise gives up 7.1, 2.4 and 1.6 % for 15 %.
- `accurate` knows more than `balanced` of dark and smooth surfaces, 199.1 instead of 195.5 thousand pixels of set 30;
  of what it knows there the mean error is no smaller.
- OpenCV's DIS flow with a check of its vertical part (`bdis bench --methods dis-flow`) is more accurate than the preset
  `paper` on set 31 and in the median of set 30. `balanced` is more accurate than both.
- A light that moves with the cameras shifts the whole surface, which the images do not show: on the frame of sets 30
  and 31 with the fewest errors inside the interval of 95 % (90 %), the smooth part of the error (Gaussian mean, 40 px
  wide) is 0.38 px rms.
- Smoke has a texture of its own, at another depth: where it hides the wall, the result is the distance of the smoke,
  with the confidence of a wall. Of twelve rendered colons (seeds 880 to 891, `disparity_px=30`) 82 to 97 % of the
  errors lie inside the interval of 95 % with `smoke=0.1`, 62 to 96 % with 0.2, 77 on average, and 51 to 94 % with 0.3;
  on tissue 88 to 99 %, on instruments 78 to 97 % (six scenes each). Smoke is grey, which colour tells in part; the
  matcher sees grey only. Left out what is bright, greyer than the rest of the picture and without fine texture, 93 % of
  the errors are inside with `smoke=0.2` (85 at least) and 91 with 0.3 (80); but the walls and the desk of Motorcycle
  and Scene Flow look the same, of which a fifteenth and a seventh of the known pixels would go, and the log score is
  worse there, on set 30 and in thin smoke. Asked only where 95 % of the picture is red, at most 0.4 times as strongly
  as its reddest tenth, and of whole pieces of the map, that rule holds 88 % or more of the errors of these twelve
  colons with smoke of 0.1, 0.2 and 0.3 and takes nothing from Middlebury, Scene Flow and clear tissue; but to it steel
  in smoke is smoke, all of an instrument, and so is pale serosa, 1 to 3 % of pictures taken in vivo. Where there is
  smoke there are instruments: it is not built in. Nor do the pieces of smoke that float in front of the rest, apart
  from it on all sides, tell themselves from near walls in the dark (sets 30, 31), the desk of Scene Flow and
  instruments.
- Within 16 px of the upper, lower and right border errors are larger than inside, and intervals hold less: 0.83 px
  instead of 0.48 and 89 % on set 30 (1.27 px and 79 % before slopes kept up to the border), 1.31 instead of 0.72 px and
  91 % on set 31 (1.56 px, 88 %), 0.18 instead of 0.12 px and 98 % on six colons, 0.08 instead of 0.05 px and 94 % on
  six scenes of tissue (seeds 1100 to 1105, not used to choose). The first four known pixels of a row, next to what only
  one camera sees, are off by 1.7 px on set 30, where 90 % are inside, and by 3.3 px on set 31 (93 %). At the border of
  a mask slopes still end level in columns.
- Rows that differ by more than about 3 px are not corrected, and differ silently if `align_rows` is off.
- Between unrelated images (the left one of a real pair with the right one of the next, six of them) 0.07 % of the
  pixels get a disparity, at most 0.4 %, and 0.02 % a probability above 0.5, at most 0.14 %; `accurate` 0.08, 0.5, 0.03
  and 0.17 %.
- One law of error for all pairs is a compromise: frames of one set differ, and the table on uncertainty has the worst
  and the best of each; of 15 fresh scenes (all kinds, seeds 9201 to 9203, not used to choose) 96 % of the errors are
  inside, 89 to 99.8 %, more than 99 % on one of them. The interval of 68 % holds 65 to 77 %. On rendered instruments
  half of what is outside lies on the shafts, whose bands of light move with the cameras: smooth brightness is no
  texture. How smooth it is (the curvature of brightness over its gradient, in windows of 17x17) tells on every set
  where errors are outside, 35 % of the smoothest eighth of the instruments and 1 % of the roughest, and as a factor of
  the variance it holds 1 % more on instruments; but the order of pixels is worse then on every real set (AUSE +4 to +29
  %), so it is not built in. Laws with heavier tails (2.25 and 2.5 degrees of freedom, or two widths mixed) were fitted
  as well: probability and shares come no closer. With the coherence of differences intervals are narrower and the log
  score is better on Middlebury, Scene Flow and rendered scenes; the order of pixels (AUSE) is better on Middlebury,
  Scene Flow, Cones, Aloe and set 31, but 4 % worse on tissue and 13 % on rendered scenes than without: a local
  correlation is itself noisy. Before the weights were fitted anew, without a floor that all pixels have, 97.2 % of the
  errors of the 18 rendered scenes were inside, up to 99.8 %, and more than 99 % on four; the order of pixels was 10 %
  better on rendered scenes and 5 % on Scene Flow (AUSE), and the same on the others. By how much the second best label
  is dearer than the best one is no cue: it orders pixels better with 4 and 8 px of disparity (AUSE 13 % smaller) and on
  rendered instruments (5 %), but not on real pairs, and in smoke, where three quarters of the tenth of the pixels with
  the smallest margin are wrong and 2 % of that with the largest, errors are 40 px, and pixels of sets 30 and 31 that
  are right have the same margins.
- Where texture is strong intervals are a tenth of a px wide, and errors of a reference show: of Aloe, whose reference
  is in steps of half a px, 90 % are inside, and 96 % if those steps are allowed for.
- What is far has few px of disparity, and what noise does to these depends on texture. Of 10 scenes each (all kinds,
  seeds 7320 and 7321, not used to choose) 94 % of the errors are inside with 4 px and noise of 1.5 grey levels, 95 %
  with 8 px, 94 % with 8 px and noise of 3, 96.5 by default, 98 % with 80 px, on single frames 87 to 99.5 %; before the
  error model knew of noise over texture it was 92, 93, 88, 96 and 98 %, and 82 % on the worst frame.
- In strong noise (6 grey levels) 97 % of the errors of three rendered scenes of tissue are inside. With a third of the
  texture, which that noise hides, it is 82 to 98 % on 40 scenes, 91 on average (noise of 5 and 6 grey levels; tissue,
  colon, plane, sphere and instruments, seeds 4001 to 4004, not used to choose). Scene Flow with noise of 5 grey levels
  had 86 % before noise over texture counted: its desk has no texture.
- Pictures that were compressed hard, enlarged or are out of focus have intervals that are too narrow. Of six rendered
  scenes (tissue, instruments and colon, seeds 3 and 4) 95 % of the errors are inside as they are, 90 % after JPEG of
  quality 30 (84 on the worst scene), 72 % (67) of quality 10, 91 % (85) if enlarged four times from 160x120, 96 % (92)
  if enlarged twice, and 88 % (84) if both views are blurred by 3 px. `result.warnings` tells so, but of JPEG only if
  the pictures were not moved since, as by rectification, and not of a blur below 2 px (92 % at 1.5 px, 88 on the worst
  scene, 82 % on Motorcycle).
- `fast` and `paper` with a variance have a simpler error model, which was fitted to rendered scenes: on real pairs
  their intervals of 95 % hold 83 to 94 %, see the table. Fitted to real pairs as well they hold 86 to 96 %, but then
  those of `fast` are too wide on sets 30 and 31, where its probability is off by up to 0.15.
- Rows that differ by less than 0.1 px are left as they are, and count as uneven, which widens intervals. Moved by
  exactly one row, which is corrected with the rest, Cones, Aloe and Tsukuba have the same errors in narrower
  intervals: 81 % are inside on Cones and 64 % on Tsukuba, or 88, 89 (Aloe) and 96 % if errors of the references are
  allowed for. Scene Flow with rows 1 and 2 px off (its own right image, moved by whole rows) has 0.97 to 1.11 and
  1.14 to 1.16 times the mean error of `balanced` as it is, 0.99 to 1.11 and 1.05 to 1.13 times that of `accurate`, as
  1 to 4 % more of its desk is known; 0.95 to 1.06 times at equal coverage. What is known of that desk hangs by a
  thread: moved by 0.003 px and not aligned, the same pair has 1.10 to 1.11 times the error of `balanced`. Before
  coarse levels were searched again with the right rows it was 1.23 and 1.27 times (`accurate` 1.18 and 1.35) with 2
  px, and with 3 px 1.58 and 1.28, which is 0.98 and 1.02 now. On the five other real pairs it is 0.93 to 1.02 times
  with 1 and 2 px. A pair that is so far off takes a fifth to two fifths longer (on a busy machine); in a video only
  the first frame does.
- A glossy surface without texture whose brightness changes slowly has lines of equal grey, which move with the cameras
  and match in a wrong place: on Scene Flow, cropped to 680x324, a part of the desk is off by 30 px with a sigma of 1.7
  px, and 83 % are inside.
- On SCARED, one of the two pairs of tissue, four other matchers share the smooth part of our error, 0.55 px, with
  correlations of 0.94 to 0.98: it is an error of the cameras or of the reference, and no matcher can see it. Rows are
  more uneven there than on any other pair, which is why its intervals hold 93 % all the same. A camera whose columns
  are off and whose rows are not would have intervals that are too narrow.
- `bdis.combine` of `balanced` with others is at most 2.0 % worse than the best single one on the sets of its table, and
  3 % better on average; but its rule and constants were chosen on these but Cones and Aloe, among some 60. On pairs
  that were not used to choose (real ones mirrored, cropped, halved or noisy, cut-out polygons, scenes with little
  texture) 31 of 210 combinations are more than 2 % worse (counted with an earlier rule for three and more; of 90 such
  combinations, real pairs upside down, cropped or noisy and nine new scenes, 7 with both): up to five times the error
  on Scene Flow cropped or noisy with ELAS, twice on a mirrored Tsukuba, more with little texture. Without ours it
  follows DIS flow too far on Middlebury and Scene Flow: its smooth maps are assessed as too sure. SGBM with a far
  stricter uniqueness (70 to 85 %) is more accurate on Middlebury than its surest pixels by `bdis.assess`.
- A second result that contradicts the first everywhere by the same distance hardly widens the intervals of
  `bdis.combine` (sigma .065 to .091 px at 1 as at 10 px): how far two results usually are apart is taken from the frame
  itself. Results of different pictures are refused. Of `balanced` with `fast`, whose errors are the same, 3 to 7 % are
  lost.
- In smoke, or with hardly any texture, rows may seem to differ that do not. Of 108 rendered pairs in smoke (colon,
  tissue, instruments, seeds 880 to 891, of which the first half was in view, `disparity_px=30`, `smoke` of 0.1, 0.2
  and 0.3) 5 are moved, by up to 0.26 px at the centre and 0.47 px more at a border, and have up to 1.06 times the
  median error; of 36 others (seeds 7900 to 7905, `smoke` of 0.2 and 0.3, not used to choose) 5, by up to 0.23 and
  0.34 px, with up to 1.16 times. It was 21 and 11, up to 0.94 and 1.27 px and 1.8 times, before the estimate was
  repeated until it stays, without what varies evenly over a window. With a tenth or a fifth of the texture and noise
  of 2 grey levels (the first twelve seeds, planes and spheres with a tenth as well) 24 of 96 are moved, 23 before, by
  up to 0.18 px at the centre and 0.35 px at a border, with up to 1.05 times the median error. None of the same 60
  scenes is moved without smoke and with their texture. How far parts of the picture scatter (4x4 to 16x8 of them)
  hardly tells such offsets from true ones: most are the same all over, 4 to 13 standard errors by that as well. To
  ask for five of these (6x4 parts) would leave out five of nine that were moved before planes were eliminated, but
  also SCARED with rows moved by -0.2 px.
- A rotation between raw cameras that is transposed by mistake is told from the rows of features where the cameras are
  turned towards each other by a quarter of a degree or more: on all of 216 rendered pairs of up to 5 degrees (tissue,
  colon and instruments, with and without distortion), and on none of 672 with the right rotation, some of them
  rectified already, swapped or with rows moved by 1 and 2 px. Turned by 0.12 degrees and in no other direction it is
  told on 4 of 12, as rows then differ hardly more than those of any pair, and the depth is 1 to 10 % off.
- Two unrelated pictures of mere noise get a probability above 0.9 on 2 to 4 % of the pixels by `fast` with `variance`,
  on none by `balanced`.
- Guesses of `dense` are told from what was matched, and as unsure as their surroundings make them: of the filled
  pixels alone 95 and 97 % are inside on sets 30 and 31 (80 and 84 % on their worst frames), 99 % on ten rendered scenes
  (seeds 8400 to 8409) and 97 % on six real pairs (86 % on Scene Flow). Where half of a frame is filled these intervals
  are more than 100 px wide. On smooth scenes they are too wide, 99 % and more are inside.
- Video mode averages what stands still; when the camera moves, each frame is matched by itself.
- Two threads are 1.2 to 1.9 times as fast as one, varying from run to run: the match is over before the second core has
  reached its full speed, and from one megapixel on both wait for the same memory.
- From a file to depth, decoding takes most of the time with `fast`. A preview and a depth video together cost about as
  much as a match by `balanced`.
- A video decoder conceals damage: a damaged frame is left out, but the frames that depend on it until the next key
  frame are matched as they are, and only marked as suspect.
- `dis` fills every pixel and is wrong where there is no texture; it is the paper's baseline, not meant for use.
- Highlights on wet tissue move with the viewpoint. With `highlights`, 4 % of the saturated pixels of six glossy
  rendered scenes of tissue (`highlights=2`, seeds 740 to 745) are off by more than 1 px (77 % without), 0.6 % with a
  probability above 0.9 (46 %), and the mean error of these scenes is 28 % smaller; of four scenes with instruments (750
  to 753) 28 % (53 %) and 4 % (42 %). The seeds were not used to choose its constants. The mean error of real tissue is
  1 % smaller; coverage falls by 0.2 to 0.3 %, with instruments by 2 %. White things that are no highlights lose:
  Motorcycle has a 2 % larger error.
- Where a rectified image has black borders, the patches that touch them are resampled instead of looked up; the first
  table shows the cost.
- Without AVX-512 the same code runs on narrower registers; CONTRIBUTING.md has the times.
"""
