"""Networks that many models are: how each scales pixels, and the classes of well-known data sets.

Only for models whose metadata says nothing. A family is recognized by the names that its published
models have in common, of the file or of tensors.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from .scaling import Scaling


@dataclass(frozen=True)
class Family:
    """Networks that take pixels alike."""

    name: str
    names: str  # A regular expression for a part of the names of files or of tensors.
    mean: float
    std: float

    @property
    def scaling(self) -> Scaling:
        return Scaling((self.mean,), (self.std,), f"as {self.name} takes them")


# The first that fits counts.
FAMILIES = (
    # TensorFlow Hub's modules take 0..1, whatever network they hold.
    Family("TensorFlow Hub", r"hub_input/|module_apply_default", 0.0, 255.0),
    Family("EfficientNet-Lite", r"efficientnet[-_]?lite", 127.0, 128.0),
    Family("MobileNet", r"MobilenetV[123]/|^mobilenet_v[123]_", 127.5, 127.5),
    Family("Inception", r"InceptionV[1-4]/|InceptionResnetV2/|^inception_v[1-4]", 127.5, 127.5),
    Family("DeepLab", r"^deeplab_?v3", 127.5, 127.5),
    Family("PoseNet", r"^posenet_mobilenet|^multi_person_mobilenet", 127.5, 127.5),
    Family("BodyPix", r"^body-?pix", 127.5, 127.5),
    Family("BlazeFace", r"^face_detection_(front|back|short_range|full_range)", 127.5, 127.5),
    Family("MediaPipe", r"^(selfie_segm|segm_(full|lite)|pose_landmark|hand_landmark|face_landmark)"
           r"|^palm_detection", 0.0, 255.0),
    Family("Ultra-Light-Fast-Generic-Face-Detector", r"^version-(RFB|slim)-", 127.0, 128.0),
    Family("MoveNet", r"movenet", 0.0, 1.0),
    Family("the hourglass network", r"^hourglass", 0.0, 1.0),
    Family("YOLOX", r"^yolox", 0.0, 1.0),
    Family("YOLO", r"^yolo_?v?[3-9]|^yolov?1[0-9]", 0.0, 255.0),
    Family("style transfer", r"^style_(transfer|predict)|style_image", 0.0, 255.0),
    Family("ESRGAN", r"^esrgan", 0.0, 1.0),
)  # fmt: skip


def family_of(file: str, tensors: Iterable[str]) -> Family | None:
    """The family of a model by the name of its file, else of its tensors; None if unknown."""
    for names in ((file,), tuple(tensors)):
        for family in FAMILIES:
            if any(re.search(family.names, name) for name in names):
                return family
    return None


PASCAL_VOC = (
    *("background", "aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat"),
    *("chair", "cow", "dining table", "dog", "horse", "motorbike", "person", "potted plant"),
    *("sheep", "sofa", "train", "tv/monitor"),
)
CITYSCAPES = (
    *("road", "sidewalk", "building", "wall", "fence", "pole", "traffic light", "traffic sign"),
    *("vegetation", "terrain", "sky", "person", "rider", "car", "truck", "bus", "train"),
    *("motorcycle", "bicycle"),
)
# Names of the classes of data sets for segmentation, by number.
DATA_SETS = {"Pascal VOC": PASCAL_VOC, "Cityscapes": CITYSCAPES}


def data_set_of(file: str, classes: int) -> str:
    """The data set whose number of classes a mask has, or that the file is named after; or ""."""
    if classes:
        return next((name for name, each in DATA_SETS.items() if len(each) == classes), "")
    # A mask that ARG_MAX has computed does not tell how many classes there are.
    return "Pascal VOC" if re.search(r"deeplab.*pascal|pascal.*voc", file) else ""
